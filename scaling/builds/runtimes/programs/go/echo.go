// `echo` in Go: a goroutine for each end of a connection. The client sends a payload and waits until
// all of it has come back; a worker has its own listener and its own connections.
package main

import (
	"bytes"
	"errors"
	"io"
	"net"
	"runtime"
	"sync"
	"sync/atomic"
)

const (
	bufferBytes = 65_536
	turnsPerUs  = 30 // workers/workloads/parts/work.py
)

type echo struct {
	Connections  int     `json:"connections"`
	PayloadBytes int     `json:"payload_bytes"`
	WorkUs       float64 `json:"work_us"`
	payload      []byte
	clients      []*client
}

// client is a connection and its count, on cache lines of their own.
type client struct {
	net.Conn
	trips atomic.Int64
	_     [128]byte
}

func init() { workloads["echo"] = func() workload { return new(echo) } }

func (e *echo) inFlight() *int { return &e.Connections }
func (e *echo) finite() bool   { return false }

func (e *echo) operations() (trips int64) {
	for _, each := range e.clients {
		trips += each.trips.Load()
	}
	return trips
}

// setUp starts the server, connects, and compares one echo on an extra connection byte by byte.
func (e *echo) setUp() error {
	listener, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		return err
	}
	go serve(listener)
	for k := range e.PayloadBytes {
		e.payload = append(e.payload, byte(k))
	}
	for range e.Connections + 1 {
		connection, err := net.Dial("tcp4", listener.Addr().String())
		if err != nil {
			return err
		}
		e.clients = append(e.clients, &client{Conn: connection})
	}
	extra := e.clients[e.Connections]
	defer extra.Close()
	e.clients = e.clients[:e.Connections]
	echoed := make([]byte, e.PayloadBytes)
	if err := extra.trip(e.payload, echoed); err != nil {
		return err
	}
	if !bytes.Equal(echoed, e.payload) {
		return errors.New("the echo differs from what was sent")
	}
	return nil
}

// run keeps one payload in flight on every connection until stopped.
func (e *echo) run() error {
	failures := make([]error, len(e.clients))
	turnsEach := int(e.WorkUs*turnsPerUs + 0.5)
	var all sync.WaitGroup
	for index, each := range e.clients {
		all.Add(1)
		go func() {
			defer all.Done()
			echoed := make([]byte, e.PayloadBytes)
			for !stopping.Load() {
				if failures[index] = each.trip(e.payload, echoed); failures[index] != nil {
					return
				}
				each.trips.Add(1)
				runtime.KeepAlive(turns(turnsEach))
			}
		}()
	}
	all.Wait()
	return errors.Join(failures...)
}

func (c *client) trip(payload, echoed []byte) error {
	if _, err := c.Write(payload); err != nil {
		return err
	}
	_, err := io.ReadFull(c, echoed)
	return err
}

func serve(listener net.Listener) {
	for {
		connection, err := listener.Accept()
		if err != nil {
			return
		}
		go func() {
			buffer := make([]byte, bufferBytes)
			for {
				size, err := connection.Read(buffer)
				if err != nil {
					return
				}
				if _, err := connection.Write(buffer[:size]); err != nil {
					return
				}
			}
		}()
	}
}

// turns is the work of an operation: a loop with as many turns as Python's.
func turns(count int) (total int) {
	for k := range count {
		total += k & 7
	}
	return total
}
