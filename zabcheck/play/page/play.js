// @ts-check
/// <reference lib="dom" />
/// <reference lib="dom.iterable" />
// Shows what the server sends, region by region, and sends it the acts that the buttons stand for.

/** @param {string} id */
const byId = (id) => /** @type {HTMLElement} */ (document.getElementById(id));
const KEPT = "zabcheck token"; // this server's: its port is part of the origin

document.documentElement.classList.add("live");
let version = "";
let waiting = 0; // acts that are not done yet: a key that is held down waits for its turn
let last = Promise.resolve();
let hasEnded = false;

const fragment = new URLSearchParams(location.hash.slice(1));
if (fragment.has("token")) {
  localStorage.setItem(KEPT, fragment.get("token") || "");
  history.replaceState(null, "", location.pathname);
}
const token = localStorage.getItem(KEPT) || "";

/**
 * @param {string} path
 * @param {RequestInit} [options]
 */
const ask = (path, options = {}) => fetch(path, { ...options, headers: { "x-zabcheck-token": token } });

/** @param {string} words */
function say(words) {
  byId("said").textContent = words;
}

/** @param {{version: number, regions: Record<string, string>}} shown */
function show(shown) {
  // What this tab has waited for may come after what it has done since, and is older then.
  if (version !== "" && shown.version <= Number(version)) return;
  version = String(shown.version);
  const focused = document.activeElement;
  const key = focused instanceof HTMLElement ? focused.id : "";
  const acting = "#picture, #menus, #whole, #bar, #branches, #exercise";
  const inside = focused && focused !== document.body ? focused.closest(acting) : null;
  for (const [id, html] of Object.entries(shown.regions)) {
    const region = byId(id);
    if (region.dataset.shown === html) continue;
    const open = [...region.querySelectorAll("details[open][id]")].map((each) => each.id);
    region.dataset.shown = html;
    region.innerHTML = html;
    for (const each of open) document.getElementById(each)?.setAttribute("open", "");
  }
  const diagram = byId("diagram");
  const rows = diagram.querySelectorAll(".steps:not(.nexts) > li");
  const bottom = rows[rows.length - 1];
  bottom?.setAttribute("aria-current", "step");
  const nexts = diagram.querySelector(".nexts") || bottom;
  if (nexts instanceof HTMLElement) diagram.scrollTop = nexts.offsetTop - diagram.clientHeight / 2;
  if (inside && !document.contains(focused)) {
    const same = key ? document.getElementById(key) : null;
    const other = document.getElementById(inside.id === "exercise" ? "exercise-title" : "next-0");
    (same || other || diagram).focus({ preventScroll: true });
  }
}

/** @param {object} act */
function send(act) {
  if (waiting > 8 || hasEnded) return last;
  waiting++;
  last = last.then(() => done(act));
  return last;
}

/** @param {object} act */
async function done(act) {
  document.documentElement.setAttribute("aria-busy", "true");
  const asks = /** @type {any} */ (act).act === "ask";
  if (asks) byId("answer").textContent = "Trying …";
  if (asks) delete byId("answer").dataset.shown;
  try {
    const response = await ask("act", { method: "POST", body: JSON.stringify(act) });
    const content = await response.json();
    say(response.ok ? "" : content.said);
    if (asks && !response.ok) byId("answer").textContent = "";
    if (response.ok) show(content);
  } catch {
    end();
  } finally {
    waiting--;
    if (!waiting) document.documentElement.removeAttribute("aria-busy");
  }
}

function end() {
  hasEnded = true;
  byId("ended").hidden = false;
  document.documentElement.classList.add("ended");
  byId("ended").scrollIntoView();
}

// Another tab may do something: what is new is asked for again and again, and the server answers once there is something.
async function follow() {
  while (!hasEnded) {
    try {
      const response = await ask(`state?known=${version}`);
      if (response.status === 200) show(await response.json());
      else if (response.status !== 204) {
        byId("verdict").textContent = (await response.json()).said;
        return;
      }
    } catch {
      end();
    }
  }
}

/** @param {string} name */
async function take(name) {
  try {
    const response = await ask(`take/${name}`);
    if (!response.ok) return say((await response.json()).said);
    const link = document.createElement("a");
    link.href = URL.createObjectURL(await response.blob());
    link.download = name;
    link.click();
    URL.revokeObjectURL(link.href);
    say(`${name} was downloaded`);
  } catch {
    end();
  }
}

/** @param {HTMLElement} button */
async function copy(button) {
  const words = button.textContent;
  const copied = byId(button.dataset.copy || "").textContent || "";
  // A link alone opens nothing: this page's address goes before it.
  const whole = button.dataset.copy === "link" ? `${location.origin}/#${copied}` : copied;
  try {
    await navigator.clipboard.writeText(whole);
    button.textContent = "Copied";
  } catch {
    const range = document.createRange();
    range.selectNodeContents(byId(button.dataset.copy || ""));
    getSelection()?.removeAllRanges();
    getSelection()?.addRange(range);
    button.textContent = "Selected: copy it with Ctrl-C";
  }
  setTimeout(() => { button.textContent = words; }, 1500);
}

document.addEventListener("click", (event) => {
  const target = /** @type {Element} */ (event.target);
  const next = target.closest("[data-next]");
  const button = next ? byId(`next-${next.getAttribute("data-next")}`) : target.closest("button");
  const point = next ? null : target.closest(".pt");
  if (point) return void document.getElementById(`s${point.getAttribute("data-s")}`)?.querySelector("button")?.click();
  if (!(button instanceof HTMLElement) || button.getAttribute("aria-disabled") === "true") return;
  if (button.dataset.act) void send(JSON.parse(button.dataset.act));
  else if (button.dataset.lead) {
    const chosen = button.closest("fieldset")?.querySelectorAll("input:checked") || [];
    const followers = [.../** @type {Iterable<HTMLInputElement>} */ (chosen)].map((each) => Number(each.value));
    void send({ act: "do", choice: { choice: "lead", leader: Number(button.dataset.lead), followers } });
  } else if (button.dataset.ask) {
    const chosen = /** @type {HTMLSelectElement} */ (byId(button.dataset.with || ""));
    void send({ act: "ask", question: button.dataset.ask, name: chosen.value });
  } else if (button.dataset.take) void take(button.dataset.take);
  else if (button.dataset.copy) void copy(button);
  else if (button.id === "open") void send({ act: "open", link: /** @type {HTMLInputElement} */ (byId("opened")).value });
});

// A menu opens where its button is.
document.addEventListener("toggle", (event) => {
  const menu = /** @type {HTMLElement} */ (event.target);
  if (!menu.matches?.(".menu:popover-open")) return;
  const place = document.querySelector(`[popovertarget="${menu.id}"]`)?.getBoundingClientRect();
  if (!place) return;
  // On a very wide screen the page is larger: see play.css.
  const zoom = Number(getComputedStyle(document.body).zoom) || 1;
  const { width, height } = menu.getBoundingClientRect();
  menu.style.left = `${Math.max(8, Math.min(place.left, innerWidth - width - 8)) / zoom}px`;
  menu.style.top = `${Math.max(8, Math.min(place.bottom + 4, innerHeight - height - 8)) / zoom}px`;
  /** @type {HTMLElement | null} */ (menu.querySelector("button, summary"))?.focus();
}, true);

/** @type {Record<string, string>} */
const keys = { ArrowLeft: "back", ArrowRight: "next", Home: "first", End: "last", n: "next-0" };
document.addEventListener("keydown", (event) => {
  const target = /** @type {Element} */ (event.target);
  if (target.closest("input, textarea, select, pre, summary, [popover]")) return;
  if (!(event.key in keys) || event.ctrlKey || event.metaKey || event.altKey) return;
  event.preventDefault();
  document.getElementById(keys[event.key])?.click();
});

if (fragment.has("run")) {
  history.replaceState(null, "", location.pathname);
  await send({ act: "open", link: `run=${fragment.get("run")}` });
}
void follow();
