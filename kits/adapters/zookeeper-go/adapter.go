// A server of DistAlchemist/zookeeper-go as a node that zabcheck single-steps. docs/notes/found-elsewhere.md says what is left out.
//
//	build.sh SOURCES PROGRAM && zabcheck run --exec PROGRAM --processes 3
//
// Its goroutines, channels and sleeps run as they are, in the simulated time of Go's playground (`-tags faketime`), which
// goes on only when every goroutine waits: a sleep of the adapter returns when nothing is left to do.
package main

import (
	"encoding/json"
	"fmt"
	"net"
	"os"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"

	"zookeepergo/network"
	"zookeepergo/quorum"
	"zookeepergo/replicalog"
)

// kinds names the messages that zookeeper-go numbers. HELLO and WELCOME are the adapter's: a connection opens.
var kinds = map[string]string{"1": "ASK-FOR-VOTE", "2": "VOTE", "3": "WON", "5": "CREATE", "9": "SYNC"}

var knows = Knows{
	Kinds:      []string{"HELLO", "WELCOME", "ASK-FOR-VOTE", "VOTE", "WON", "CREATE", "SYNC"},
	Properties: []string{"total order", "agreement", "integrity", "local primary order"},
	Mutants:    []string{},
	Once:       true, // the root of its data tree is a private variable, which nothing sets back
}

// Zxid is what the adapter calls a transaction: zookeeper-go has neither epochs nor zxids, but `broadcast` needs them.
type Zxid [2]int

// Message has the fields of all messages and stimuli.
type Message struct {
	Leader, Peer, Value string
	Bytes               string // what zookeeper-go has written
	Zxid                Zxid   // of the transaction in a CREATE
	Seen                int    // the highest epoch that the sender knows of
	Incarnation         int
	Leads               bool
}

// Server is one server of zookeeper-go, which is made of global variables, and what the adapter remembers of it.
type Server struct {
	*Node
	sid      int
	phase    string // "election", "leading" or "following"
	oracle   string // whom the oracle has named
	pipes    map[string]*pipe
	past     map[string]int // the last incarnation of a peer that this server was connected to: it never is twice
	asked    int            // how often it has asked for votes
	epoch    int            // of its own leadership; 0: none
	seen     int
	counter  int
	told     int // how many entries of its log were told as delivered
	zxids    map[string]Zxid
	messages []func()
}

// pipe is the connection to a peer: what is read from it, and what is written to it as long as it is open.
type pipe struct {
	net.Conn // nobody calls its other methods
	server   *Server
	peer     string
	open     bool
	in       chan string
}

func (p *pipe) Read(into []byte) (int, error) { return copy(into, <-p.in), nil }

func (p *pipe) Write(bytes []byte) (int, error) {
	s, text := p.server, string(bytes)
	parts := strings.SplitN(text, ":", 4)
	if parts[1] == "1" {
		s.asked++
	}
	if p.open {
		fields := Fields{"bytes": text, "seen": s.seen}
		if parts[1] == "5" {
			fields["zxid"] = s.zxids[parts[3]]
		}
		s.messages = append(s.messages, func() { s.Send(p.peer, kinds[parts[1]], fields) })
	}
	return len(bytes), nil
}

func start(n *Node) Handler {
	os.Stdout = os.Stderr // from now on what zookeeper-go prints is the log
	return &Server{Node: n, pipes: map[string]*pipe{}, past: map[string]int{}, zxids: map[string]Zxid{}}
}

// Init does what Server.Start does, but for the sockets.
func (s *Server) Init(map[string]json.RawMessage, bool) {
	for sid, id := range s.Ids {
		if id == s.Id {
			s.sid = sid
			continue
		}
		p := &pipe{server: s, peer: id, in: make(chan string)}
		conn := net.Conn(p)
		s.pipes[id] = p
		network.Peerset = append(network.Peerset, network.Peer{Sid: sid})
		network.Conn = append(network.Conn, &conn)
		network.Response = append(network.Response, &conn)
	}
	network.CR = make(chan network.NetMessage)
	for number := range network.Peerset {
		go network.ResponseHandler(network.Response[number], network.CR, number)
	}
	replicalog.Initlog()
	network.Winner = -1
	go s.serve()
	s.finish()
}

// serve is the loop of Server.Start.
func (s *Server) serve() {
	for {
		if network.Winner == -1 {
			s.phase = "election"
			network.Winner = quorum.LookForLeader(network.Peerset, s.sid, network.Conn, network.Response, network.CR)
		}
		if network.Winner == s.sid {
			s.phase = "leading"
			quorum.Leader(network.Conn)
		} else {
			s.phase = "following"
			quorum.Follower(network.CR, network.Peerset, network.Winner, s.sid)
		}
	}
}

func (s *Server) Handle(src, kind string, body json.RawMessage) {
	var m Message
	must(json.Unmarshal(body, &m))
	if len(s.Ids) != 3 {
		s.Send("zabcheck", "error", Fields{"text": "zookeeper-go is for three servers: --processes 3"})
		return
	}
	if m.Seen > s.seen {
		s.seen = m.Seen
	}
	switch kind {
	case "elected":
		s.onElected(m.Leader)
	case "request":
		s.onRequest(m.Value)
	case "lost":
		s.close(m.Peer)
	case "timed_out": // it has no heartbeats
	case "HELLO":
		s.onHello(src, m)
	case "WELCOME":
		s.onWelcome(src, m)
	default:
		s.onMessage(src, kind, m)
	}
	s.finish()
}

func (s *Server) onElected(leader string) {
	s.oracle = leader
	for _, id := range s.Ids {
		s.close(id)
	}
	if leader != s.Id {
		s.messages = append(s.messages, func() {
			s.Send(leader, "HELLO", Fields{"incarnation": s.Incarnation, "seen": s.seen})
		})
	} else if s.phase == "leading" {
		s.Event("ready", Fields{"epoch": s.epoch})
	} else {
		s.askForVotes()
	}
}

func (s *Server) onRequest(value string) {
	s.counter++
	zxid := Zxid{s.epoch, s.counter}
	s.zxids[value] = zxid
	s.Event("broadcast", Fields{"epoch": s.epoch, "txn": Fields{"zxid": zxid, "value": value}})
	quorum.Clients <- network.MessageDealer([]byte("4:5:1:" + value)) // as a client writes it
}

func (s *Server) onHello(src string, m Message) {
	if !s.open(src, m.Incarnation) {
		return
	}
	fields := Fields{"incarnation": s.Incarnation, "leads": s.phase == "leading", "seen": s.seen}
	s.messages = append(s.messages, func() { s.Send(src, "WELCOME", fields) })
	if s.oracle == s.Id {
		s.askForVotes()
	}
}

func (s *Server) onWelcome(src string, m Message) {
	if src == s.oracle && s.open(src, m.Incarnation) && m.Leads {
		s.askForVotes() // a leader tells those that ask for votes that it leads
	}
}

func (s *Server) onMessage(src, kind string, m Message) {
	if !s.pipes[src].open {
		return
	}
	if kind == "CREATE" {
		s.zxids[m.Bytes[strings.LastIndex(m.Bytes, ":")+1:]] = m.Zxid
	}
	s.pipes[src].in <- m.Bytes
	s.rest()
	if kind == "VOTE" { // its time to count them is over
		asked := s.asked
		s.pass(time.Second, func() bool { return s.phase != "election" || s.asked > asked })
	}
}

// Connections.

// open tells whether the connection to a peer may open: zookeeper-go makes it anew only if one of both was started anew.
func (s *Server) open(peer string, incarnation int) bool {
	if last, ok := s.past[peer]; ok && last == incarnation {
		return false
	}
	s.past[peer] = incarnation
	s.pipes[peer].open = true
	return true
}

// close does what network.ResponseHandler does when it can read no more, but for waiting at a socket.
func (s *Server) close(peer string) {
	p := s.pipes[peer]
	if p == nil || !p.open {
		return
	}
	p.open = false
	for number, each := range network.Peerset {
		if s.Ids[each.Sid] == peer {
			network.CR <- network.NetMessage{Id: number, Type: 4, Info: number}
		}
	}
	s.rest()
}

// Time.

// askForVotes lets time pass until this server, in an election, has asked the others.
func (s *Server) askForVotes() {
	asked := s.asked
	s.pass(3*time.Second, func() bool { return s.phase != "election" || s.asked > asked })
}

// rest returns when all goroutines wait, those that sleep between two messages included; no election goes on by it.
func (s *Server) rest() {
	time.Sleep(1)
	if s.phase != "election" {
		time.Sleep(time.Hour)
	}
}

func (s *Server) pass(most time.Duration, enough func() bool) {
	for ; most > 0 && !enough(); most -= time.Millisecond {
		time.Sleep(time.Millisecond)
	}
}

// finish tells what has happened in a step, first to zabcheck and then to the other servers.
func (s *Server) finish() {
	s.rest()
	if s.phase == "leading" && s.epoch == 0 {
		s.epoch = (s.seen/len(s.Ids)+1)*len(s.Ids) + s.sid
		s.seen = s.epoch
		s.Event("ready", Fields{"epoch": s.epoch})
	}
	for ; s.told < replicalog.Lognow; s.told++ {
		value := replicalog.Getlog(s.told + 1).Str
		s.Event("deliver", Fields{"txn": Fields{"zxid": s.zxids[value], "value": value}})
	}
	for _, send := range s.messages {
		send()
	}
	s.messages = nil
	log := []string{}
	for number := 1; number <= replicalog.Lognow; number++ {
		log = append(log, replicalog.Getlog(number).Str)
	}
	s.State(Fields{"phase": s.phase, "winner": winner(), "log": log})
}

func winner() any {
	if network.Winner == -1 {
		return nil
	}
	return fmt.Sprintf("sid %d", network.Winner)
}

// descriptor returns a file under another number: what is written to 1 and 2 in simulated time has a header of its own.
func descriptor(of int) *os.File {
	other, err := syscall.Dup(of)
	must(err)
	return os.NewFile(uintptr(other), strconv.Itoa(of))
}

func main() {
	runtime.GOMAXPROCS(1)
	os.Stdout, os.Stderr = descriptor(1), descriptor(2)
	Run(start, knows)
}
