// A node that zabcheck single-steps: a Handler is called for each line that the node is sent.
//
// Go's standard library is all that is needed. docs/any-language.md says what each line means.
package main

import (
	"bufio"
	"encoding/json"
	"os"
)

// Fields are what a body has besides its type. They are written in the order of their names, not that of the map.
type Fields map[string]any

// Handler takes the steps of a node. What it asks the node for is written when it returns, with `done` behind it.
type Handler interface {
	Init(disk map[string]json.RawMessage, intact bool)
	Handle(src, kind string, body json.RawMessage)
}

// Saver is a Handler whose node can be asked for a snapshot. Saved returns all that it remembers, one value for all
// that nothing to come can tell apart; Restore takes that back after the start; HighestEpoch is the highest that it has
// promised or proposed.
type Saver interface {
	Saved() any
	Restore(saved json.RawMessage)
	HighestEpoch() int
}

// Line is written later, such as a message to a node.
type Line struct {
	To, Kind string
	Fields   Fields
}

// Knows is what a node says of itself: the types of its messages, what it is judged by, the bugs that can be planted.
type Knows struct {
	Kinds, Properties, Mutants []string
	Once                       bool // it cannot be reset, and is started anew for each run
}

// Node is what a Handler knows of the run, and what it can do.
type Node struct {
	Id           string         `json:"node_id"`
	Ids          []string       `json:"node_ids"`
	Weights      map[string]int `json:"weights"`
	Mutant       string         `json:"mutant"`
	Seed         int64          `json:"seed"`
	Incarnation  int            `json:"incarnation"`
	CounterLimit int            `json:"counter_limit"`
	out          *bufio.Writer
	waiting      map[int][]Line // by the number of a sync: what is written when the disk has answered it
}

type line struct {
	Id        int
	Src, Dest string
	Body      json.RawMessage
}

// Run reads lines and answers them until the standard input is closed.
func Run(start func(*Node) Handler, knows Knows) {
	in, out := bufio.NewReader(os.Stdin), bufio.NewWriter(os.Stdout)
	node := &Node{Id: "node", out: out}
	var handler Handler
	for {
		text, err := in.ReadBytes('\n')
		if err != nil {
			return
		}
		var l line
		var body struct {
			Type      string
			InReplyTo int `json:"in_reply_to"`
			Disk      map[string]json.RawMessage
			Intact    bool
		}
		must(json.Unmarshal(text, &l))
		must(json.Unmarshal(l.Body, &body))
		end := Fields{"in_reply_to": l.Id}
		kind := "done"
		switch body.Type {
		case "reset":
			node = &Node{Id: "node", out: out}
			kind = "reset_ok"
		case "init":
			must(json.Unmarshal(l.Body, node))
			node.waiting = map[int][]Line{}
			handler = start(node)
			handler.Init(body.Disk, body.Intact)
			kind = "init_ok"
			end = Fields{"in_reply_to": l.Id, "reset": !knows.Once, "kinds": knows.Kinds, "mutants": knows.Mutants}
			end["properties"] = knows.Properties
			_, saves := handler.(Saver)
			end["snapshot"] = saves && !knows.Once
		case "snapshot":
			saver := handler.(Saver)
			kind = "snapshot_ok"
			end["epoch"] = saver.HighestEpoch()
			end["state"] = Fields{"saved": saver.Saved(), "waiting": node.waiting}
		case "restore":
			var from struct {
				State struct {
					Saved   json.RawMessage
					Waiting map[int][]Line
				}
			}
			must(json.Unmarshal(l.Body, &from))
			node = &Node{out: out}
			must(json.Unmarshal(l.Body, node))
			node.waiting = from.State.Waiting
			handler = start(node)
			handler.(Saver).Restore(from.State.Saved)
			kind = "restore_ok"
		case "synced":
			then := node.waiting[body.InReplyTo]
			delete(node.waiting, body.InReplyTo)
			for _, each := range then {
				node.Send(each.To, each.Kind, each.Fields)
			}
		default:
			handler.Handle(l.Src, body.Type, l.Body)
		}
		node.Send("zabcheck", kind, end)
		must(out.Flush())
	}
}

// Send a message to a node, which may be this one.
func (n *Node) Send(to, kind string, fields Fields) {
	body := Fields{"type": kind}
	for name, value := range fields {
		body[name] = value
	}
	text, err := json.Marshal(Fields{"src": n.Id, "dest": to, "body": body})
	must(err)
	n.out.Write(append(text, '\n'))
}

// What returns an event, to be told with a write, once that is durable.
func What(kind string, fields Fields) Fields {
	fields["type"], fields["event"] = "event", kind
	return fields
}

// Event tells zabcheck what happened: broadcast, deliver, ready, …
func (n *Node) Event(kind string, fields Fields) { n.Send("zabcheck", "event", What(kind, fields)) }

// Write these fields to the disk, all or none, and ask for them to be synced; `then` is written once they are.
func (n *Node) Write(fields Fields, events []Fields, then ...Line) {
	number := 1
	for each := range n.waiting {
		if each >= number {
			number = each + 1
		}
	}
	n.waiting[number] = then
	n.Send("disk", "write", Fields{"fields": fields, "events": events})
	n.Send("disk", "sync", Fields{"msg_id": number})
}

// ForgetSyncs writes nothing once the disk has answered what it was asked so far.
func (n *Node) ForgetSyncs() {
	for each := range n.waiting {
		n.waiting[each] = []Line{}
	}
}

// GiveUp closes every connection, and waits for the oracle.
func (n *Node) GiveUp(reason string) { n.Send("zabcheck", "give_up", Fields{"reason": reason}) }

// State tells what this node remembers, for reports.
func (n *Node) State(variables Fields) { n.Send("zabcheck", "state", Fields{"variables": variables}) }

// IsQuorum tells whether the nodes of which `has` is true have more than half of the weight.
func (n *Node) IsQuorum(has func(string) bool) bool {
	sum, all := 0, 0
	for _, id := range n.Ids {
		all += n.Weights[id]
		if has(id) {
			sum += n.Weights[id]
		}
	}
	return 2*sum > all
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}
