// The model `processes`: each worker in a process of its own, on one processor. A part is such a
// process. It gets its cell, says how long after an order it can begin, gets the instant, and says
// what it measured; then it waits until nobody reads its memory any more.
package main

import (
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"runtime"
	"time"
)

type part struct {
	*exec.Cmd
	orders io.WriteCloser
	says   *json.Decoder
}

func (asked cell) inProcesses(tell func(phase string, pids ...int)) (all measured) {
	runtime.GOMAXPROCS(1)
	parts, pids := make([]*part, asked.Workers), []int{os.Getpid()}
	for index := range parts {
		parts[index] = asked.part(index)
		pids = append(pids, parts[index].Process.Pid)
	}
	tell("imported", pids...)
	var after time.Duration // the same for all
	for _, each := range parts {
		each.hear(&after)
	}
	instant := now() + int64(after)
	for _, each := range parts {
		check(json.NewEncoder(each.orders).Encode(instant))
	}
	for index, each := range parts {
		var one measured
		each.hear(&one)
		one.Workers[0]["index"], one.Workers[0]["process"] = index, object{}
		all.Finite, all.Opened, all.Closed = one.Finite, one.Opened, max(all.Closed, one.Closed)
		all.Workers = append(all.Workers, one.Workers...)
	}
	tell("closed", pids...)
	for _, each := range parts {
		each.orders.Close()
		check(each.Wait())
	}
	return all
}

// part starts the process of a worker.
func (asked cell) part(index int) *part {
	asked.InFlight = asked.share(index)
	asked.Model, asked.Workers, asked.ObserverFd, asked.Part = "", 1, nil, true
	executable, err := os.Executable()
	check(err)
	made := &part{Cmd: exec.Command(executable)}
	made.Stderr = os.Stderr
	made.orders, err = made.StdinPipe()
	check(err)
	said, err := made.StdoutPipe()
	check(err)
	made.says = json.NewDecoder(said)
	made.says.UseNumber() // instants do not fit into a float64
	check(made.Start())
	check(json.NewEncoder(made.orders).Encode(asked))
	return made
}

// hear reads what a part says. One that fails has printed why.
func (p *part) hear(into any) {
	if p.says.Decode(into) != nil {
		p.Wait()
		os.Exit(1)
	}
}

// begin chooses the instant at which all workers begin, this long from now. A part is given it.
func (asked cell) begin(after time.Duration) (instant int64) {
	if !asked.Part {
		return now() + int64(after)
	}
	check(output.Encode(after))
	check(input.Decode(&instant))
	return instant
}

// report says what a part has measured.
func (asked cell) report(done measured) {
	check(output.Encode(done))
	io.Copy(io.Discard, os.Stdin) // until the end
}
