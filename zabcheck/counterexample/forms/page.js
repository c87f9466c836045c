// @ts-check
/// <reference lib="dom" />
/// <reference lib="dom.iterable" />
"use strict";
// Steps through the run that is in the page: which step is looked at, the state of each process there, and what
// happened before an event. The page's own markup says everything else, so without this it can still be read.
(() => {
  /** @typedef {string | string[]} Value */
  /** @typedef {[number, string, string[], string[], boolean]} Change process, variable, removed, added, is it a sequence */
  /**
   * @typedef {{unit: string, steps: number[], movers: (number | null)[], points: number[][], witness: number[],
   *   initial: [number, [string, Value][]][], changes: Change[][], flights: [number, number, number, number][],
   *   decided: number | null}} Data
   */
  /** @param {string} id */
  const byId = (id) => /** @type {HTMLElement} */ (document.getElementById(id));
  /** @param {Event} event @param {string} selector */
  const closest = (event, selector) => /** @type {HTMLElement | null} */ (/** @type {Element} */ (event.target).closest(selector));
  /** @param {ParentNode} parent @param {string} selector */
  const all = (parent, selector) => /** @type {NodeListOf<HTMLElement>} */ (parent.querySelectorAll(selector));
  document.documentElement.classList.add("live");

  document.addEventListener("click", (event) => {
    const copy = closest(event, "[data-copy]");
    if (copy) void copyFrom(copy);
  });

  /** @param {HTMLElement} button */
  async function copyFrom(button) {
    const source = byId(button.dataset.copy || "");
    const { exact } = source.dataset; // as JSON, where what is shown is not just that
    try {
      await navigator.clipboard.writeText(exact === undefined ? source.textContent || "" : JSON.parse(exact));
    } catch {
      const range = document.createRange();
      range.selectNodeContents(source);
      getSelection()?.removeAllRanges();
      getSelection()?.addRange(range);
      document.execCommand("copy");
    }
    button.textContent = "Copied";
    setTimeout(() => { button.textContent = "Copy"; }, 1500);
  }

  if (!byId("data")) return; // nothing happened in the run
  /** @type {Data} */
  const data = JSON.parse(byId("data").textContent || "");
  const diagram = byId("diagram");
  const svg = /** @type {SVGElement} */ (diagram.querySelector("svg.lanes"));
  const items = [...all(diagram, ".steps > li")];
  const last = items.length - 1;
  const LONGEST = 12; // entries of a sequence that are shown

  // The state of every process after the step that is looked at; `at` is its row.
  /** @type {Map<number, Map<string, Value>>} */
  const state = new Map(data.initial.map(([process, variables]) => [process, new Map(variables)]));
  let at = -1;

  /** @param {string[]} list @param {string[]} cut @param {string[]} add */
  const end = (list, cut, add) => [...list.slice(0, list.length - cut.length), ...add];

  /** @param {number} process */
  const of = (process) => /** @type {Map<string, Value>} */ (state.get(process));

  /** @param {number} row @param {boolean} forward */
  function apply(row, forward) {
    for (const [process, variable, removed, added, isSequence] of data.changes[row]) {
      const [from, to] = forward ? [removed, added] : [added, removed];
      const variables = of(process);
      const before = /** @type {string[]} */ (variables.get(variable) || []);
      variables.set(variable, isSequence ? end(before, from, to) : to[0]);
    }
  }

  // The table: a cell for each process and variable.
  const cells = new Map([...all(byId("state"), "[data-of]")].map((cell) => [cell.dataset.of || "", cell]));

  // What is marked now, and the points of each step: to look for them in a long diagram takes too long.
  /** @type {{item: HTMLElement | null, points: HTMLElement[]}} */
  let current = { item: null, points: [] };
  /** @type {Map<number, HTMLElement[]>} */
  const pointsOf = new Map();
  for (const point of all(svg, ".pt")) {
    const step = Number(point.dataset.s);
    pointsOf.set(step, [...(pointsOf.get(step) || []), point]);
  }

  /** @param {string} tag @param {string} text */
  const element = (tag, text) => Object.assign(document.createElement(tag), { textContent: text });

  /** @param {HTMLElement} cell @param {Value} value @param {Change | undefined} change */
  function show(cell, value, change) {
    cell.replaceChildren();
    cell.classList.toggle("changed", change !== undefined);
    if (!Array.isArray(value)) {
      if (change && change[2][0] !== "") cell.append(element("del", change[2][0]), " → ");
      cell.append(change ? element("ins", value) : value);
      return;
    }
    const added = change ? change[3].length : 0;
    const kept = value.slice(0, value.length - added);
    const shown = kept.slice(Math.max(0, value.length - LONGEST));
    if (value.length > LONGEST) cell.append(`… ${value.length - LONGEST} more `);
    cell.append(shown.join(" "));
    if (change) {
      for (const each of change[2].slice(-LONGEST)) cell.append(" ", element("del", each));
      for (const each of change[3].slice(-LONGEST)) cell.append(" ", element("ins", each));
    }
    if (!value.length && !(change && change[2].length)) cell.append("empty");
  }

  /** @param {Set<string>} touched */
  function draw(touched) {
    const changed = new Map(data.changes[at].map((change) => [`${change[0]} ${change[1]}`, change]));
    for (const key of new Set([...touched, ...changed.keys()])) {
      const cell = cells.get(key);
      if (!cell) continue;
      const [process, variable] = [Number(key.slice(0, key.indexOf(" "))), key.slice(key.indexOf(" ") + 1)];
      show(cell, of(process).get(variable) || "", changed.get(key));
    }
  }

  /** @param {number} row */
  function select(row, reveal = true) {
    row = Math.max(0, Math.min(last, row));
    const touched = new Set(at < 0 ? cells.keys() : data.changes[at].map(([p, v]) => `${p} ${v}`));
    /** @param {Change} change */
    const mark = (change) => touched.add(`${change[0]} ${change[1]}`);
    for (; at < row; at++) { apply(at + 1, true); data.changes[at + 1].forEach(mark); }
    for (; at > row; at--) { apply(at, false); data.changes[at].forEach(mark); }
    draw(touched);
    current.item?.removeAttribute("aria-current");
    for (const point of current.points) point.classList.remove("now");
    const item = items[row];
    current = { item, points: pointsOf.get(data.steps[row]) || [] };
    item.setAttribute("aria-current", "step");
    for (const point of current.points) point.classList.add("now");
    byId("where").textContent = `${data.unit} ${data.steps[row]} of ${data.steps[last]}`;
    byId("what").replaceChildren(.../** @type {HTMLElement} */ (item.querySelector(".said")).cloneNode(true).childNodes);
    for (const id of ["first", "back"]) byId(id).setAttribute("aria-disabled", String(row === 0));
    for (const id of ["next", "last"]) byId(id).setAttribute("aria-disabled", String(row === last));
    if (reveal) bringIntoView(item);
  }

  /** @param {HTMLElement} item */
  function bringIntoView(item) {
    const margin = 3 * item.offsetHeight;
    const top = item.offsetTop - diagram.scrollTop;
    if (top < margin || top > diagram.clientHeight - margin) {
      diagram.scrollTop = item.offsetTop - diagram.clientHeight / 2;
    }
    const [point] = current.points;
    if (!point) return;
    const [lane, frame] = [point.getBoundingClientRect(), diagram.getBoundingClientRect()];
    if (lane.left < frame.left || lane.right > frame.right) {
      diagram.scrollLeft += lane.left - frame.left - diagram.clientWidth / 2;
    }
  }

  // What happened before an event: earlier steps of its process, and what sent the messages that these handled.
  /** @param {number} step @param {number} process */
  function pastOf(step, process) {
    /** @type {Set<string>} */
    const seen = new Set();
    const waiting = [[data.steps.indexOf(step), process]];
    /** @type {Map<string, number[][]>} */
    const arrived = new Map();
    for (const [from, to, sent, received] of data.flights) {
      const key = `${received} ${to}`;
      if (received) arrived.set(key, [...(arrived.get(key) || []), [sent, from]]);
    }
    const rowOf = new Map(data.steps.map((number, each) => [number, each]));
    for (let next = waiting.pop(); next; next = waiting.pop()) {
      const [from, p] = next;
      for (let each = from; each >= 0; each--) {
        if (!data.points[each].includes(p)) continue;
        const key = `${data.steps[each]} ${p}`;
        if (seen.has(key)) break;
        seen.add(key);
        for (const [sent, sender] of arrived.get(key) || []) {
          const row = rowOf.get(sent);
          if (row !== undefined) waiting.push([row, sender]);
        }
      }
    }
    return seen;
  }

  /** @param {number} step @param {number} process */
  function trace(step, process) {
    const past = pastOf(step, process);
    svg.classList.add("traced");
    for (const point of all(svg, ".pt")) {
      point.classList.toggle("in", past.has(`${point.dataset.s} ${point.dataset.p}`));
    }
    for (const flight of all(svg, ".f")) {
      const { s, p, r, q } = flight.dataset;
      flight.classList.toggle("in", past.has(`${s} ${p}`) && past.has(`${r} ${q}`));
    }
    byId("past").textContent = `${past.size} of ${data.points.flat().length} events happened before this one of p${process}, or are it`;
    byId("forget").hidden = false;
  }

  function forget() {
    svg.classList.remove("traced");
    byId("past").textContent = "";
    byId("forget").hidden = true;
  }

  function traceHere() {
    const processes = data.points[at];
    if (processes.length) trace(data.steps[at], data.movers[at] || processes[0]);
  }

  const witness = data.witness.map((step) => data.steps.indexOf(step)).filter((row) => row >= 0);
  const toWitness = () => { if (witness.length) select(witness[(witness.indexOf(at) + 1) % witness.length]); };

  /** @type {Record<string, () => void>} */
  const actions = {
    first: () => select(0), back: () => select(at - 1), next: () => select(at + 1), last: () => select(last),
    witness: toWitness, trace: traceHere, forget,
  };
  for (const [id, action] of Object.entries(actions)) byId(id)?.addEventListener("click", action);
  /** @type {Record<string, string>} */
  const keys = {
    ArrowRight: "next", ArrowDown: "next", j: "next", n: "next", ArrowLeft: "back", ArrowUp: "back", k: "back", p: "back",
    Home: "first", End: "last", w: "witness", c: "trace", Escape: "forget",
  };
  document.addEventListener("keydown", (event) => {
    const typing = closest(event, "input, textarea, select, pre, summary");
    const action = keys[event.key];
    if (!action || typing || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    actions[action]();
  });
  diagram.addEventListener("click", (event) => {
    const point = closest(event, ".pt");
    if (point) {
      select(data.steps.indexOf(Number(point.dataset.s)), false);
      trace(Number(point.dataset.s), Number(point.dataset.p));
      return;
    }
    const item = closest(event, ".steps > li");
    if (item) select(items.indexOf(item), false);
  });
  document.addEventListener("click", (event) => {
    const link = closest(event, "[data-step]");
    if (link) {
      event.preventDefault();
      select(data.steps.indexOf(Number(link.dataset.step)));
      byId("run").scrollIntoView();
    }
  });
  for (const box of /** @type {NodeListOf<HTMLInputElement>} */ (document.querySelectorAll("[data-kind]"))) {
    const follow = () => svg.classList.toggle(`no-${box.dataset.kind}`, !box.checked);
    box.addEventListener("change", follow);
    follow(); // a browser may have kept what was chosen before
  }

  const decided = data.decided === null ? -1 : data.steps.indexOf(data.decided);
  select(decided >= 0 ? decided : witness.length ? witness[witness.length - 1] : last);
  // The message that led there is in view too, unless it was sent too long before.
  const sent = data.steps.indexOf(Number(svg.querySelector(".deciding")?.getAttribute("data-s")));
  const middle = items[at].offsetTop - diagram.clientHeight / 2;
  const lowest = items[at].offsetTop - diagram.clientHeight + 3 * items[at].offsetHeight;
  diagram.scrollTop = sent < 0 ? middle : Math.min(middle, Math.max(lowest, items[sent].offsetTop - 3 * items[at].offsetHeight));
})();
