// `spawn` in Go: goroutines that do nothing but count themselves, joined by a WaitGroup.
//
// Speaks as `python -m workers` does: a cell on standard input, a record on standard output. N
// workers are N goroutines that each spawn their own, on N processors (GOMAXPROCS), so N = 1 is one
// core. Times are ns since the program began; CPU time is the whole process's, collector and all,
// dealt out evenly.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"runtime"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

type cell struct {
	Loop       string `json:"loop"`
	Workers    int    `json:"workers"`
	InFlight   *int   `json:"in_flight"`
	ObserverFd *int   `json:"observer_fd"`
	Parameters struct {
		Tasks   int     `json:"tasks"`
		PauseMs float64 `json:"pause_ms"`
	} `json:"parameters"`
}

type object = map[string]any

var began = time.Now()

func main() {
	var asked cell
	if err := json.NewDecoder(os.Stdin).Decode(&asked); err != nil {
		fmt.Fprintln(os.Stderr, "not a cell:", err)
		os.Exit(2)
	}
	runtime.GOMAXPROCS(asked.Workers)
	pause := time.Duration(asked.Parameters.PauseMs * float64(time.Millisecond))

	finished := make([]int64, asked.Workers)
	ran := make([]int64, asked.Workers)
	release := make(chan struct{})
	var done sync.WaitGroup
	for index := range asked.Workers {
		done.Add(1)
		go func() {
			defer done.Done()
			<-release
			ran[index] = spawn(asked.tasks(index), pause)
			finished[index] = now()
		}()
	}
	tell := observer(asked.ObserverFd)
	tell("imported")
	before, released := cpu(), now()
	close(release)
	done.Wait()
	used := cpu() - before
	tell("closed")

	workers := make([]object, asked.Workers)
	last := released
	for index := range workers {
		last = max(last, finished[index])
		workers[index] = asked.report(index, ran[index], released, finished[index], used)
	}
	json.NewEncoder(os.Stdout).Encode(object{
		"schema": 1, "outcome": "measured", "finite": true, "process": object{},
		"loop":        object{"name": asked.Loop, "class": "goroutines", "version": runtime.Version()},
		"instants_ns": object{"started": 0, "ready": released, "opened": released, "closed": last},
		"workers":     workers,
	})
}

// spawn runs that many goroutines, waits for all, and returns how many really ran.
func spawn(tasks int, pause time.Duration) int64 {
	var ran atomic.Int64
	var all sync.WaitGroup
	for range tasks {
		all.Add(1)
		go func() {
			if pause > 0 {
				time.Sleep(pause)
			}
			ran.Add(1)
			all.Done()
		}()
	}
	all.Wait()
	return ran.Load()
}

// tasks of one worker: the total in flight dealt out evenly, the first ones get the rest.
func (asked cell) tasks(index int) int {
	if asked.InFlight == nil {
		return asked.Parameters.Tasks
	}
	each, rest := *asked.InFlight/asked.Workers, *asked.InFlight%asked.Workers
	if index < rest {
		each++
	}
	return each
}

func (asked cell) report(index int, ran, released, finished, used int64) object {
	errors, samples := 0, []string{}
	if tasks := asked.tasks(index); ran != int64(tasks) {
		errors, samples = 1, []string{fmt.Sprintf("%d of %d tasks ran to their end", ran, tasks)}
	}
	return object{
		"index": index, "in_flight": asked.tasks(index), "errors": errors, "error_samples": samples,
		"busy_from_ns": released, "busy_until_ns": finished,
		"released_ns": released, "started_ns": released, "finished_ns": finished,
		"ticks": object{
			"instant_ns": []int64{released, finished}, "time_ns": []int64{released, finished},
			"operations": []int64{0, ran}, "errors": []int{0, errors}, "bytes": []int{0, 0},
			"cpu_ns": []int64{0, used / int64(asked.Workers)},
		},
	}
}

func now() int64 { return time.Since(began).Nanoseconds() }

// cpu is the process's CPU time so far, ns.
func cpu() int64 {
	var usage syscall.Rusage
	syscall.Getrusage(syscall.RUSAGE_SELF, &usage)
	return usage.Utime.Nano() + usage.Stime.Nano()
}

// observer tells the driver of a phase, and waits for its nod; nobody where there is no descriptor.
func observer(descriptor *int) func(phase string) {
	if descriptor == nil {
		return func(string) {}
	}
	line := os.NewFile(uintptr(*descriptor), "observer")
	answers := bufio.NewReader(line)
	return func(phase string) {
		json.NewEncoder(line).Encode(object{"phase": phase, "pids": []int{os.Getpid()}})
		answers.ReadString('\n')
	}
}
