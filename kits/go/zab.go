// The whole of a small Zab, with the numbers of the steps in DSN 2011, IV and V.
//
//	go build -o zab . && zabcheck run --exec ./zab
//
// With `--bug commit-on-own-ack` a leader commits what it alone has accepted.
package main

import (
	"encoding/json"
	"os"
)

type Zxid [2]int

type Txn struct {
	Zxid  Zxid   `json:"zxid"`
	Value string `json:"value"`
}

// Message has the fields of all messages and stimuli.
type Message struct {
	Epoch        int
	CurrentEpoch int `json:"current_epoch"`
	History      []Txn
	Counts       bool
	Zxid         Zxid
	Txn          Txn
	Leader       string
	Peer         string
	Value        string
}

var knows = Knows{
	Kinds:      []string{"CEPOCH", "NEWEPOCH", "ACK-E", "NEWLEADER", "ACK-LD", "COMMIT-LD", "PROPOSE", "ACK", "COMMIT"},
	Properties: []string{"core", "causality", "protocol"},
	Mutants:    []string{"commit-on-own-ack"},
}

// Zab is one process: every node follows; one that is named leader leads as well, and is its own follower.
type Zab struct {
	*Node
	bug                  string
	promised, epoch      int // f.p and f.a
	history, delivered   []Txn
	leader, phase        string
	new                  int                // e', once it is chosen
	promises             map[string]int     // the CEPOCHs
	answers              map[string]Message // the ACK-Es that count
	links                map[string]string
	acks                 map[string]Zxid
	proposed             []Txn
	chosen               bool // whether there is an initial history
	initial, committed   Zxid
	established, isReady bool
}

func before(a, b Zxid) bool { return a[0] < b[0] || a[0] == b[0] && a[1] < b[1] }

func last(history []Txn) Zxid {
	if len(history) == 0 {
		return Zxid{}
	}
	return history[len(history)-1].Zxid
}

func common(a, b []Txn) int {
	same := 0
	for same < len(a) && same < len(b) && a[same] == b[same] {
		same++
	}
	return same
}

// listed returns what JSON has for an empty history: [], not null.
func listed(history []Txn) []Txn { return append([]Txn{}, history...) }

func (f *Zab) Init(disk map[string]json.RawMessage, intact bool) {
	f.bug = f.Mutant
	if len(os.Args) > 2 && os.Args[1] == "--bug" {
		f.bug = os.Args[2]
	}
	for name, into := range map[string]any{"f.p": &f.promised, "f.a": &f.epoch, "history": &f.history} {
		if kept, ok := disk[name]; ok {
			must(json.Unmarshal(kept, into))
		}
	}
	f.begin("", "election")
	if !intact {
		f.Event("halt", Fields{"reason": "a record on its disk is not what was written"})
	}
}

func (f *Zab) begin(leader, phase string) {
	f.ForgetSyncs()
	f.leader, f.phase = leader, phase
	f.new, f.promises, f.answers = 0, map[string]int{}, map[string]Message{}
	f.links, f.acks = map[string]string{}, map[string]Zxid{}
	f.proposed, f.chosen, f.initial = nil, false, Zxid{}
	f.established, f.isReady, f.committed = false, false, Zxid{}
	f.tell()
}

// variables are all that a Zab remembers, by name.
func (f *Zab) variables() map[string]any {
	return map[string]any{
		"bug": &f.bug, "promised": &f.promised, "epoch": &f.epoch, "history": &f.history, "delivered": &f.delivered,
		"leader": &f.leader, "phase": &f.phase, "new": &f.new, "promises": &f.promises, "answers": &f.answers,
		"links": &f.links, "acks": &f.acks, "proposed": &f.proposed, "chosen": &f.chosen, "initial": &f.initial,
		"committed": &f.committed, "established": &f.established, "ready": &f.isReady,
	}
}

// Saved leaves out what no step reads again, so that more states are the same.
func (f *Zab) Saved() any {
	s := *f
	s.history, s.delivered, s.proposed = listed(f.history), listed(f.delivered), listed(f.proposed)
	s.acks = map[string]Zxid{}
	for id, zxid := range f.acks {
		if before(zxid, f.committed) {
			zxid = f.committed
		}
		s.acks[id] = zxid
	}
	if f.new > 0 {
		s.promises = map[string]int{}
	}
	if f.chosen {
		s.answers = map[string]Message{}
	}
	if f.established {
		s.initial = Zxid{}
	}
	return s.variables()
}

func (f *Zab) Restore(saved json.RawMessage) {
	var found map[string]json.RawMessage
	must(json.Unmarshal(saved, &found))
	for name, into := range f.variables() {
		must(json.Unmarshal(found[name], into))
	}
}

func (f *Zab) HighestEpoch() int {
	if f.new > f.promised {
		return f.new
	}
	return f.promised
}

func (f *Zab) tell() {
	f.State(Fields{"phase": f.phase, "f.p": f.promised, "f.a": f.epoch, "h_f": listed(f.history)})
}

// durable writes, and says `then` once that is synced, unless this iteration is over by that time.
func (f *Zab) durable(fields Fields, events []Fields, then ...Line) {
	f.Write(fields, events, then...)
	f.tell()
}

func (f *Zab) abandon(reason string) {
	f.GiveUp(reason)
	f.begin("", "election")
}

func (f *Zab) Handle(src, kind string, body json.RawMessage) {
	var m Message
	must(json.Unmarshal(body, &m))
	switch kind {
	case "elected": // f.1.1
		f.begin(m.Leader, "discovery")
		f.Send(f.leader, "CEPOCH", Fields{"epoch": f.promised})
	case "NEWEPOCH":
		f.onNewEpoch(src, m)
	case "NEWLEADER":
		f.onNewLeader(src, m)
	case "COMMIT-LD":
		f.onCommitLd(src, m)
	case "PROPOSE":
		f.onPropose(src, m)
	case "COMMIT": // f.3.3
		if src == f.leader && f.phase == "broadcast" {
			f.deliverUpTo(m.Zxid)
		}
	case "CEPOCH":
		f.onCEpoch(src, m)
	case "ACK-E":
		f.onAckE(src, m)
	case "ACK-LD":
		f.onAckLd(src, m)
	case "request":
		f.onRequest(m)
	case "ACK": // l.3.2
		if _, ok := f.acks[src]; ok && f.leads() {
			f.acks[src] = m.Zxid
			f.commit()
		}
	case "lost":
		f.onLost(m)
	case "timed_out":
		if f.phase != "election" {
			f.abandon("time-out")
		}
	default:
		panic("no such body: " + kind)
	}
}

func (f *Zab) leads() bool { return f.leader == f.Id }

// A follower.

func (f *Zab) onNewEpoch(src string, m Message) { // f.1.2
	if src != f.leader || f.phase != "discovery" {
		return
	}
	if m.Epoch < f.promised {
		f.abandon("NEWEPOCH is older than f.p")
		return
	}
	counts := m.Epoch > f.promised
	epoch, history := f.epoch, listed(f.history)
	answer := Fields{"current_epoch": epoch, "history": history, "counts": counts}
	f.phase, f.promised = "synchronization", m.Epoch
	if !counts {
		f.tell()
		f.Send(src, "ACK-E", answer)
		return
	}
	promise := What("promise", Fields{"epoch": m.Epoch, "leader": src})
	told := What("ack_epoch", Fields{"epoch": m.Epoch, "current_epoch": epoch, "history": history})
	f.durable(Fields{"f.p": m.Epoch}, []Fields{promise}, Line{"zabcheck", "event", told}, Line{src, "ACK-E", answer})
}

func (f *Zab) onNewLeader(src string, m Message) { // f.2.1
	if src != f.leader || f.phase != "synchronization" {
		return
	}
	if m.Epoch != f.promised {
		f.abandon("NEWLEADER is not of the epoch promised")
		return
	}
	events := []Fields{}
	if same := common(f.history, m.History); same < len(f.history) {
		events = append(events, What("truncate", Fields{"zxid": last(f.history[:same]), "length": same}))
	}
	events = append(events, What("adopt", Fields{"epoch": m.Epoch, "history": m.History}))
	f.history, f.epoch = m.History, m.Epoch
	f.durable(Fields{"f.a": f.epoch, "history": m.History}, events,
		Line{src, "ACK-LD", Fields{"epoch": m.Epoch, "zxid": last(m.History)}})
}

func (f *Zab) onCommitLd(src string, m Message) { // f.2.2 and f.3.1
	if src != f.leader || f.phase != "synchronization" || f.epoch != m.Epoch {
		return
	}
	f.phase = "broadcast"
	f.Event("commit_epoch", Fields{"epoch": m.Epoch})
	if common(f.delivered, f.history) < len(f.delivered) {
		f.delivered = nil
	}
	f.deliverUpTo(m.Zxid)
	if f.leads() {
		f.isReady = true
		f.Event("ready", Fields{"epoch": m.Epoch})
	}
	f.tell()
}

func (f *Zab) onPropose(src string, m Message) { // f.3.2
	if src != f.leader || !before(last(f.history), m.Txn.Zxid) {
		return
	}
	f.history = append(listed(f.history), m.Txn)
	accept := What("accept", Fields{"epoch": m.Epoch, "txn": m.Txn})
	f.durable(Fields{"history": f.history}, []Fields{accept},
		Line{src, "ACK", Fields{"epoch": m.Epoch, "zxid": m.Txn.Zxid}})
}

func (f *Zab) deliverUpTo(zxid Zxid) {
	length := 0
	for length < len(f.history) && !before(zxid, f.history[length].Zxid) {
		length++
	}
	if last(f.history[:length]) != zxid || length <= len(f.delivered) {
		return
	}
	for _, txn := range f.history[len(f.delivered):length] {
		f.Event("deliver", Fields{"txn": txn})
	}
	f.delivered = f.history[:length]
}

// A leader.

func (f *Zab) onCEpoch(src string, m Message) { // l.1.1, and l.3.3 for who comes later
	if !f.leads() {
		return
	}
	f.links[src] = "asked"
	if f.new > 0 {
		f.Send(src, "NEWEPOCH", Fields{"epoch": f.new})
		if f.chosen {
			f.proposeHistory(src)
		}
		return
	}
	f.promises[src] = m.Epoch
	if !f.IsQuorum(func(id string) bool { _, ok := f.promises[id]; return ok }) {
		return
	}
	for _, epoch := range f.promises {
		if epoch >= f.new {
			f.new = epoch + 1
		}
	}
	for _, id := range f.Ids {
		if _, ok := f.promises[id]; ok {
			f.Send(id, "NEWEPOCH", Fields{"epoch": f.new})
		}
	}
}

func (f *Zab) onAckE(src string, m Message) { // l.1.2 and l.2.1
	if !f.leads() || f.links[src] != "asked" {
		return
	}
	f.links[src] = "discovered"
	if f.chosen {
		f.proposeHistory(src)
		return
	}
	if _, ok := f.answers[src]; m.Counts {
		f.answers[src] = m
	} else if !ok {
		f.abandon("a promise of e' was made, and its answer lost")
		return
	}
	if !f.IsQuorum(func(id string) bool { _, ok := f.answers[id]; return ok }) {
		return
	}
	best := Message{CurrentEpoch: -1}
	for _, id := range f.Ids {
		if a, ok := f.answers[id]; ok && (a.CurrentEpoch > best.CurrentEpoch ||
			a.CurrentEpoch == best.CurrentEpoch && before(last(best.History), last(a.History))) {
			best = a
		}
	}
	f.proposed, f.chosen, f.initial = best.History, true, last(best.History)
	for _, id := range f.Ids {
		if f.links[id] == "discovered" {
			f.proposeHistory(id)
		}
	}
}

func (f *Zab) proposeHistory(to string) { // l.2.1
	f.links[to] = "proposed"
	f.Send(to, "NEWLEADER", Fields{"epoch": f.new, "history": listed(f.proposed)})
}

func (f *Zab) onAckLd(src string, m Message) { // l.2.2 and l.3.4
	if !f.leads() || f.links[src] != "proposed" {
		return
	}
	f.acks[src] = m.Zxid
	if f.established {
		f.commit()
		f.links[src] = "synced"
		f.Send(src, "COMMIT-LD", Fields{"epoch": f.new, "zxid": f.committed})
		return
	}
	f.links[src] = "synced"
	if f.IsQuorum(func(id string) bool { _, ok := f.acks[id]; return ok }) {
		f.established, f.committed = true, f.initial
		f.Event("establish", Fields{"epoch": f.new})
		f.toAll(Fields{"epoch": f.new, "zxid": f.committed}, "COMMIT-LD", "synced")
	}
}

func (f *Zab) onRequest(m Message) { // l.3.1
	if !f.isReady {
		return
	}
	counter := 1
	if end := last(f.proposed); end[0] == f.new {
		counter = end[1] + 1
	}
	if counter > f.CounterLimit {
		f.abandon("the counter would overflow")
		return
	}
	txn := Txn{Zxid{f.new, counter}, m.Value}
	f.proposed = append(listed(f.proposed), txn)
	f.Event("broadcast", Fields{"epoch": f.new, "txn": txn})
	f.toAll(Fields{"epoch": f.new, "txn": txn}, "PROPOSE", "proposed", "synced")
}

func (f *Zab) commit() {
	highest := f.committed
	for _, id := range f.Ids {
		zxid, ok := f.acks[id]
		if !ok || !before(highest, zxid) {
			continue
		}
		acked := func(id string) bool { acked, ok := f.acks[id]; return ok && !before(acked, zxid) }
		if f.IsQuorum(acked) || f.bug == "commit-on-own-ack" && acked(f.Id) {
			highest = zxid
		}
	}
	if before(f.committed, highest) {
		f.committed = highest
		f.toAll(Fields{"epoch": f.new, "zxid": highest}, "COMMIT", "synced")
	}
}

func (f *Zab) toAll(fields Fields, kind string, links ...string) {
	for _, id := range f.Ids {
		for _, link := range links {
			if f.links[id] == link {
				f.Send(id, kind, fields)
			}
		}
	}
}

// The end of an iteration.

func (f *Zab) onLost(m Message) {
	if !f.leads() {
		if m.Peer == f.leader {
			f.abandon("the leader closed the connection")
		}
		return
	}
	delete(f.links, m.Peer)
	if f.new > 0 && !f.IsQuorum(func(id string) bool { _, ok := f.links[id]; return ok }) {
		f.abandon("no quorum of followers is left")
	}
}

func main() { Run(func(n *Node) Handler { return &Zab{Node: n} }, knows) }
