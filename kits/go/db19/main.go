// The cluster of the db-19 lab, to the letter of its text and of docs/db19.md: prints the SHA-256 of its dump,
// which --dump FILE writes.
//
//	go build -o db19 ./db19 && ./db19 --seed 1 --nodes 3 --rounds 1000 --proposals 10
package main

import (
	"container/heap"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"os"
	"strconv"
	"strings"
)

const (
	heartbeat = 50
	election  = 150
	delays    = 3
)

// The lab's mixing function. Its first factor ends in E7B5; the usual one ends in E5B9.
func splitmix64(x uint64) uint64 {
	x += 0x9E3779B97F4A7C15
	z := (x ^ (x >> 30)) * 0xBF58476D1CE4E7B5
	z = (z ^ (z >> 27)) * 0x94D049BB133111EB
	return z ^ (z >> 31)
}

type Id = uint32

type Zxid struct{ epoch, counter uint32 }

func (z Zxid) less(other Zxid) bool {
	return z.epoch < other.epoch || z.epoch == other.epoch && z.counter < other.counter
}

type Txn struct {
	zxid    Zxid
	payload string
}

type Kind int

const (
	lookForLeader Kind = iota
	vote
	newEpoch
	ackEpoch
	newLeader
	ackLeader
	propose
	ack
	commit
)

// Rpc has the fields of all messages.
type Rpc struct {
	kind    Kind
	zxid    Zxid
	leader  Id
	epoch   uint32
	history []Txn
	txn     Txn
}

type Parcel struct {
	at       uint64
	from     Id
	sequence uint64
	to       Id
	rpc      Rpc
}

type Heap []Parcel

func (h Heap) Len() int      { return len(h) }
func (h Heap) Swap(i, j int) { h[i], h[j] = h[j], h[i] }
func (h *Heap) Push(x any)   { *h = append(*h, x.(Parcel)) }
func (h Heap) Less(i, j int) bool {
	if h[i].at != h[j].at {
		return h[i].at < h[j].at
	}
	if h[i].from != h[j].from {
		return h[i].from < h[j].from
	}
	return h[i].sequence < h[j].sequence
}
func (h *Heap) Pop() any {
	last := (*h)[len(*h)-1]
	*h = (*h)[:len(*h)-1]
	return last
}

type Role byte

const (
	looking Role = iota
	following
	leading
)

type Ids map[Id]bool

type Node struct {
	currentEpoch, acceptedEpoch uint32
	history                     []Txn
	lastCommitted               Zxid
	role                        Role
	leader                      Id
	voteTarget                  Id
	voteTargetZxid              Zxid
	voteView                    map[Id]Id
	pendingNewEpoch             uint32
	epochAcks, leaderAcks       Ids
	synced                      bool
	nextCounter                 uint32
	ackSet                      map[Zxid]Ids
	electionDeadline            uint64
	lastHeartbeatSent           uint64
}

func (n *Node) last() Zxid {
	if len(n.history) == 0 {
		return Zxid{}
	}
	return n.history[len(n.history)-1].zxid
}

type Cluster struct {
	seed      uint64
	partition map[[2]Id]bool
	nodes     []Node
	heap      Heap
	sent      uint64
	t         uint64
}

func newCluster(seed uint64, nodes uint64, partition map[[2]Id]bool) *Cluster {
	c := &Cluster{seed: seed, partition: partition, nodes: make([]Node, nodes)}
	for i := range c.nodes {
		c.resetElectionDeadline(Id(i))
		c.enterLooking(Id(i))
	}
	return c
}

func (c *Cluster) quorum() int { return len(c.nodes)/2 + 1 }

func (c *Cluster) send(from, to Id, rpc Rpc) {
	if c.partition[[2]Id{from, to}] {
		return
	}
	at := c.t + 1 + splitmix64(c.seed^uint64(from)^uint64(to)^c.t)%delays
	heap.Push(&c.heap, Parcel{at, from, c.sent, to, rpc})
	c.sent++
}

func (c *Cluster) broadcast(from Id, rpc Rpc) {
	for to := range c.nodes {
		if Id(to) != from {
			c.send(from, Id(to), rpc)
		}
	}
}

func (c *Cluster) resetElectionDeadline(i Id) {
	c.nodes[i].electionDeadline = c.t + election + splitmix64(c.seed^uint64(i)^c.t)%election
}

// Phase 0.

func (c *Cluster) enterLooking(i Id) {
	n := &c.nodes[i]
	n.role = looking
	n.synced = false
	n.voteTarget, n.voteTargetZxid = i, n.last()
	n.voteView = map[Id]Id{i: i}
	c.broadcast(i, Rpc{kind: lookForLeader, zxid: n.last()})
	c.broadcast(i, Rpc{kind: vote, zxid: n.last(), leader: i})
	c.checkElection(i)
}

func (c *Cluster) onVote(i, voter Id, last Zxid, leader Id) {
	n := &c.nodes[i]
	if n.role != looking {
		c.send(i, voter, Rpc{kind: vote, zxid: n.last(), leader: n.leader})
		return
	}
	if n.voteTargetZxid.less(last) || n.voteTargetZxid == last && n.voteTarget < voter {
		n.voteTarget, n.voteTargetZxid = voter, last
		n.voteView = map[Id]Id{i: voter}
		c.broadcast(i, Rpc{kind: vote, zxid: n.last(), leader: voter})
	}
	n.voteView[voter] = leader
	c.checkElection(i)
}

func (c *Cluster) checkElection(i Id) {
	n, votes := &c.nodes[i], 0
	for _, leader := range n.voteView {
		if leader == n.voteTarget {
			votes++
		}
	}
	if votes < c.quorum() {
		return
	}
	if n.voteTarget == i {
		c.becomeLeading(i)
	} else {
		c.becomeFollowing(i, n.voteTarget)
	}
}

// Phases 1 and 2.

func (c *Cluster) becomeFollowing(i, leader Id) {
	n := &c.nodes[i]
	n.role, n.leader, n.synced = following, leader, false
	c.resetElectionDeadline(i)
}

func (c *Cluster) becomeLeading(i Id) {
	n := &c.nodes[i]
	n.role, n.leader, n.synced = leading, i, false
	n.lastHeartbeatSent = c.t
	n.leaderAcks, n.ackSet = Ids{}, map[Zxid]Ids{}
	n.pendingNewEpoch = n.acceptedEpoch + 1 // an accepted epoch is never below the current one
	n.acceptedEpoch = n.pendingNewEpoch
	n.epochAcks = Ids{i: true}
	c.broadcast(i, Rpc{kind: newEpoch, epoch: n.pendingNewEpoch})
	c.tryFinishDiscovery(i)
}

func (c *Cluster) onNewEpoch(i, from Id, epoch uint32) {
	n := &c.nodes[i]
	if epoch >= n.acceptedEpoch {
		if epoch > n.acceptedEpoch && n.role != following {
			c.becomeFollowing(i, from)
		}
		n.acceptedEpoch = epoch
		c.send(i, from, Rpc{kind: ackEpoch})
	}
	c.resetElectionDeadline(i)
}

func (c *Cluster) tryFinishDiscovery(i Id) {
	n := &c.nodes[i]
	if len(n.epochAcks) < c.quorum() {
		return
	}
	n.currentEpoch = n.pendingNewEpoch
	n.nextCounter = 0
	n.leaderAcks = Ids{i: true}
	c.sendHistory(i)
	c.tryFinishSync(i)
}

// A history is never changed in place before its end, and its capacity is cut off, so that an append copies it.
func (c *Cluster) sendHistory(i Id) {
	n := &c.nodes[i]
	n.history = n.history[:len(n.history):len(n.history)]
	c.broadcast(i, Rpc{kind: newLeader, epoch: n.currentEpoch, history: n.history})
}

func (c *Cluster) onNewLeader(i, from Id, epoch uint32, history []Txn) {
	n := &c.nodes[i]
	if epoch < n.acceptedEpoch {
		return
	}
	n.acceptedEpoch, n.currentEpoch = epoch, epoch
	n.history = history
	if n.role != following {
		c.becomeFollowing(i, from)
	}
	c.resetElectionDeadline(i)
	c.send(i, from, Rpc{kind: ackLeader, epoch: epoch})
}

func (c *Cluster) tryFinishSync(i Id) {
	n := &c.nodes[i]
	if n.synced || len(n.leaderAcks) < c.quorum() {
		return
	}
	n.synced = true
	if n.lastCommitted.less(n.last()) {
		n.lastCommitted = n.last()
		c.broadcast(i, Rpc{kind: commit, zxid: n.lastCommitted})
	}
}

// Phase 3.

func (c *Cluster) propose(i Id, payload string) {
	n := &c.nodes[i]
	n.nextCounter++
	txn := Txn{Zxid{n.currentEpoch, n.nextCounter}, payload}
	n.history = append(n.history, txn)
	n.ackSet[txn.zxid] = Ids{i: true}
	c.broadcast(i, Rpc{kind: propose, txn: txn})
	c.tryCommit(i, txn.zxid)
}

func (c *Cluster) onPropose(i, from Id, txn Txn) {
	n := &c.nodes[i]
	if n.role != following || n.leader != from || !n.last().less(txn.zxid) {
		return
	}
	n.history = append(n.history, txn)
	c.resetElectionDeadline(i)
	c.send(i, from, Rpc{kind: ack, zxid: txn.zxid})
}

func (c *Cluster) onAck(i, from Id, zxid Zxid) {
	n := &c.nodes[i]
	if n.ackSet[zxid] == nil {
		n.ackSet[zxid] = Ids{}
	}
	n.ackSet[zxid][from] = true
	c.tryCommit(i, zxid)
}

func (c *Cluster) tryCommit(i Id, zxid Zxid) {
	n := &c.nodes[i]
	if n.lastCommitted.less(zxid) && len(n.ackSet[zxid]) >= c.quorum() {
		n.lastCommitted = zxid
		c.broadcast(i, Rpc{kind: commit, zxid: zxid})
	}
}

func (c *Cluster) onCommit(i, from Id, zxid Zxid) {
	n := &c.nodes[i]
	if n.role != looking && n.leader == from {
		c.resetElectionDeadline(i)
	}
	if n.lastCommitted.less(zxid) && !n.last().less(zxid) {
		n.lastCommitted = zxid
	}
}

// The clock.

func (c *Cluster) deliver(i, from Id, rpc Rpc) {
	n := &c.nodes[i]
	switch rpc.kind {
	case lookForLeader:
		c.onVote(i, from, rpc.zxid, from)
	case vote:
		c.onVote(i, from, rpc.zxid, rpc.leader)
	case newEpoch:
		c.onNewEpoch(i, from, rpc.epoch)
	case newLeader:
		c.onNewLeader(i, from, rpc.epoch, rpc.history)
	case propose:
		c.onPropose(i, from, rpc.txn)
	case commit:
		c.onCommit(i, from, rpc.zxid)
	case ackEpoch:
		if n.role == leading {
			n.epochAcks[from] = true
			c.tryFinishDiscovery(i)
		}
	case ackLeader:
		if n.role == leading && rpc.epoch == n.currentEpoch {
			n.leaderAcks[from] = true
			c.tryFinishSync(i)
		}
	case ack:
		if n.role == leading {
			c.onAck(i, from, rpc.zxid)
		}
	}
}

func (c *Cluster) onTick(i Id) {
	n := &c.nodes[i]
	if n.role != leading {
		if c.t >= n.electionDeadline {
			c.resetElectionDeadline(i)
			c.enterLooking(i)
		}
		return
	}
	if c.t-n.lastHeartbeatSent < heartbeat {
		return
	}
	n.lastHeartbeatSent = c.t
	if n.synced {
		c.broadcast(i, Rpc{kind: commit, zxid: n.lastCommitted})
	} else if len(n.epochAcks) >= c.quorum() {
		c.sendHistory(i)
	}
}

func (c *Cluster) run(rounds, proposals uint64) {
	schedule := map[uint64][]uint64{}
	for i := uint64(0); i < proposals; i++ {
		tick := (i + 1) * rounds / (proposals + 1)
		schedule[tick] = append(schedule[tick], i)
	}
	var pending []uint64
	for c.t = 0; c.t < rounds; c.t++ {
		pending = append(pending, schedule[c.t]...)
		for i := range c.nodes {
			if c.nodes[i].role == leading && c.nodes[i].synced {
				for _, number := range pending {
					c.propose(Id(i), "zab-"+strconv.FormatUint(number, 10))
				}
				pending = nil
				break
			}
		}
		for len(c.heap) > 0 && c.heap[0].at <= c.t {
			parcel := heap.Pop(&c.heap).(Parcel)
			c.deliver(parcel.to, parcel.from, parcel.rpc)
		}
		for i := range c.nodes {
			c.onTick(Id(i))
		}
	}
}

func (c *Cluster) dump() []byte {
	out := []byte("DSEZAB01")
	put := func(numbers ...uint32) {
		for _, number := range numbers {
			out = binary.LittleEndian.AppendUint32(out, number)
		}
	}
	put(uint32(len(c.nodes)))
	for i := range c.nodes {
		n := &c.nodes[i]
		put(uint32(i))
		out = append(out, byte(n.role))
		put(n.currentEpoch, n.acceptedEpoch, n.last().epoch, n.last().counter)
		put(n.lastCommitted.epoch, n.lastCommitted.counter, uint32(len(n.history)))
		for _, txn := range n.history {
			put(txn.zxid.epoch, txn.zxid.counter, uint32(len(txn.payload)))
			out = append(out, txn.payload...)
		}
	}
	return out
}

func fail(why string) {
	fmt.Fprintf(os.Stderr, "db19: %s; expected --seed S --nodes N --rounds R --proposals K [--partition s,d,…] [--dump FILE]\n", why)
	os.Exit(2)
}

func number(option, text string, least, most uint64) uint64 {
	value, err := strconv.ParseUint(text, 10, 64)
	if err != nil || value < least || value > most {
		fail(fmt.Sprintf("%s %s: expected a number from %d to %d", option, text, least, most))
	}
	return value
}

func main() {
	options := map[string]string{"--seed": "", "--nodes": "", "--rounds": "", "--proposals": "", "--partition": "", "--dump": ""}
	given := os.Args[1:]
	for len(given) > 0 {
		if _, known := options[given[0]]; !known || len(given) == 1 || given[1] == "" {
			fail(strings.Join(given, " "))
		}
		options[given[0]] = given[1]
		given = given[2:]
	}
	const all32, all64 = 1<<32 - 1, 1<<64 - 1
	seed := number("--seed", options["--seed"], 0, all64)
	nodes := number("--nodes", options["--nodes"], 1, all32)
	rounds := number("--rounds", options["--rounds"], 1, all64)
	proposals := number("--proposals", options["--proposals"], 0, all32)
	partition := map[[2]Id]bool{}
	if text := options["--partition"]; text != "" {
		ids := strings.Split(text, ",")
		if len(ids)%2 == 1 {
			fail("--partition: an odd number of ids")
		}
		for i := 0; i < len(ids); i += 2 {
			from := number("--partition", ids[i], 0, nodes-1)
			partition[[2]Id{Id(from), Id(number("--partition", ids[i+1], 0, nodes-1))}] = true
		}
	}
	c := newCluster(seed, nodes, partition)
	c.run(rounds, proposals)
	dump := c.dump()
	if file := options["--dump"]; file != "" {
		if err := os.WriteFile(file, dump, 0o666); err != nil {
			fail("--dump " + err.Error())
		}
	}
	fmt.Printf("%x", sha256.Sum256(dump))
}
