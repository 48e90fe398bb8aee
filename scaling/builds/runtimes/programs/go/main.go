// Go's child: it speaks as `python -m workers` does, a cell on standard input, a record on standard
// output. A workload is a file beside this one.
//
// N workers are N goroutines with work of their own, on N processors (GOMAXPROCS), so N = 1 is one
// core. One goroutine takes the ticks of all. CPU time is the whole process's, collector and
// scheduler and all, dealt out evenly. With the model `processes` each worker has a process of its
// own with one processor (processes.go).
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

type cell struct {
	Workload   string          `json:"workload"`
	Parameters json.RawMessage `json:"parameters"`
	Loop       string          `json:"loop"`
	Model      string          `json:"model"`
	Workers    int             `json:"workers"`
	InFlight   *int            `json:"in_flight"`
	WarmupS    float64         `json:"warmup_s"`
	WindowS    float64         `json:"window_s"`
	Ticks      int             `json:"ticks"`
	ObserverFd *int            `json:"observer_fd"`
	Part       bool            `json:"part"` // this process is one worker of several (processes.go)
}

// workload is what one worker does. The cell's parameters are decoded into it.
type workload interface {
	inFlight() *int    // the parameter that is work in flight
	finite() bool      // whether `run` ends by itself
	setUp() error      // before anything is counted
	run() error        // all of it, or until `stopping`
	operations() int64 // so far; from any goroutine
}

// workloads makes one by its name; each file adds its own.
var workloads = map[string]func() workload{}

var stopping atomic.Bool

type object = map[string]any

var input, output = json.NewDecoder(os.Stdin), json.NewEncoder(os.Stdout)

const lead = 20 * time.Millisecond // between choosing the first instant and that instant

type worker struct {
	workload
	index           int
	wrong           error
	from, until     int64
	instants, times []int64
	counts, cpus    []int64
}

func main() {
	var asked cell
	check(input.Decode(&asked))
	tell := observer(asked.ObserverFd)
	var done measured
	if asked.Model == "processes" {
		done = asked.inProcesses(tell)
	} else {
		done = asked.inThreads(tell)
	}
	if asked.Part {
		asked.report(done)
		return
	}
	check(output.Encode(object{
		"schema": 1, "outcome": "measured", "finite": done.Finite, "process": object{},
		"loop":  object{"name": asked.Loop, "class": "goroutines", "version": runtime.Version()},
		"facts": object{"GOMAXPROCS": strconv.Itoa(runtime.GOMAXPROCS(0))},
		"instants_ns": object{
			"started": began, "ready": done.Opened, "opened": done.Opened, "closed": done.Closed,
		},
		"workers": done.Workers,
	}))
}

// measured is what is known once all workers are done.
type measured struct {
	Finite         bool
	Opened, Closed int64
	Workers        []object
}

// inThreads measures all workers in this process.
func (asked cell) inThreads(tell func(phase string, pids ...int)) measured {
	runtime.GOMAXPROCS(asked.Workers)
	workers := asked.staff()
	tell("imported", os.Getpid())
	for _, each := range workers {
		check(each.setUp())
	}
	finite := workers[0].finite()
	if finite {
		asked.release(workers)
	} else {
		asked.window(workers)
	}
	tell("closed", os.Getpid())

	done := measured{Finite: finite, Opened: workers[0].instants[0]}
	for _, each := range workers {
		done.Workers = append(done.Workers, each.report(finite))
		done.Closed = max(done.Closed, each.instants[len(each.instants)-1])
	}
	return done
}

// share is a worker's part of the total in flight, which is dealt out evenly; the first get the rest.
func (asked cell) share(index int) *int {
	if asked.InFlight == nil {
		return nil
	}
	share := *asked.InFlight / asked.Workers
	if index < *asked.InFlight%asked.Workers {
		share++
	}
	return &share
}

// staff makes the workers.
func (asked cell) staff() []*worker {
	workers := make([]*worker, asked.Workers)
	module, _, _ := strings.Cut(asked.Workload, ":") // workers.workloads.echo:Echo
	made, known := workloads[module[strings.LastIndex(module, ".")+1:]]
	if !known {
		check(fmt.Errorf("no workload %q", asked.Workload))
	}
	for index := range workers {
		one := made()
		check(json.Unmarshal(asked.Parameters, one))
		if share := asked.share(index); share != nil {
			*one.inFlight() = *share
		}
		workers[index] = &worker{workload: one, index: index}
	}
	return workers
}

// start runs all workers, each once `released` is closed; what it returns waits for all.
func start(workers []*worker, released <-chan struct{}) (wait func()) {
	var done sync.WaitGroup
	for _, each := range workers {
		done.Add(1)
		go func() {
			defer done.Done()
			<-released
			each.wrong = each.run()
			each.until = now()
		}()
	}
	return done.Wait
}

// release lets all workers go at one instant, and waits until they have done their work.
func (asked cell) release(workers []*worker) {
	released := make(chan struct{})
	wait := start(workers, released)
	at := asked.begin(lead)
	time.Sleep(time.Duration(at - now()))
	share := cpu() / int64(len(workers))
	for _, each := range workers {
		each.from = at
		each.tick(at, at, share)
	}
	close(released)
	wait()
	share = cpu() / int64(len(workers))
	for _, each := range workers {
		each.tick(each.until, each.until, share)
	}
}

// window runs all workers, takes their ticks after the warm-up, and stops them.
func (asked cell) window(workers []*worker) {
	released := make(chan struct{})
	wait := start(workers, released)
	opens := asked.begin(seconds(asked.WarmupS) + lead)
	from := now()
	close(released)
	for k := range asked.Ticks + 1 {
		instant := opens + int64(seconds(asked.WindowS))*int64(k)/int64(asked.Ticks)
		time.Sleep(time.Duration(instant - now()))
		share := cpu() / int64(len(workers))
		for _, each := range workers {
			each.from = from
			each.tick(instant, now(), share)
		}
	}
	stopping.Store(true)
	wait()
	for _, each := range workers {
		check(each.wrong)
	}
}

func (one *worker) tick(instant, time, cpu int64) {
	one.instants = append(one.instants, instant)
	one.times = append(one.times, time)
	one.counts = append(one.counts, one.operations())
	one.cpus = append(one.cpus, cpu)
}

func (one *worker) report(finite bool) object {
	errors, samples := make([]int, len(one.times)), []string{}
	if one.wrong != nil {
		errors[len(errors)-1], samples = 1, []string{one.wrong.Error()}
	}
	report := object{
		"index": one.index, "in_flight": *one.inFlight(),
		"errors": len(samples), "error_samples": samples,
		"busy_from_ns": one.from, "busy_until_ns": one.until,
		"ticks": object{
			"instant_ns": one.instants, "time_ns": one.times, "operations": one.counts,
			"errors": errors, "bytes": make([]int, len(one.times)), "cpu_ns": one.cpus,
		},
	}
	if finite {
		report["released_ns"], report["started_ns"] = one.from, one.from
		report["finished_ns"] = one.until
	}
	return report
}

var began = now()

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }

// cpu is the process's CPU time so far, ns.
func cpu() int64 {
	var usage syscall.Rusage
	syscall.Getrusage(syscall.RUSAGE_SELF, &usage)
	return usage.Utime.Nano() + usage.Stime.Nano()
}

// observer tells the driver of a phase, and waits for its nod; nobody where there is no descriptor.
func observer(descriptor *int) func(phase string, pids ...int) {
	if descriptor == nil {
		return func(string, ...int) {}
	}
	line := os.NewFile(uintptr(*descriptor), "observer")
	answers := bufio.NewReader(line)
	return func(phase string, pids ...int) {
		json.NewEncoder(line).Encode(object{"phase": phase, "pids": pids})
		answers.ReadString('\n')
	}
}

// check ends the run with the error, if there is one.
func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
