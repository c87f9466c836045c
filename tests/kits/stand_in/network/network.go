// Package network has as much as the adapter of zookeeper-go needs, for a test of it without zookeeper-go.
package network

import "net"

type Peer struct{ Sid int }

type NetMessage struct {
	Id, Type, Info int
	Str            string
}

var (
	Peerset        []Peer
	Winner         int
	Conn, Response []*net.Conn
	CR             chan NetMessage
)

func MessageDealer(bytes []byte) NetMessage {
	return NetMessage{Type: 5, Str: string(bytes)[len("4:5:1:"):]}
}

func ResponseHandler(c *net.Conn, into chan NetMessage, number int) { select {} }
