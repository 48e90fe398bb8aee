// `spawn` in Go: goroutines that do nothing but count themselves, joined by a WaitGroup.
package main

import (
	"fmt"
	"sync"
	"sync/atomic"
	"time"
)

type spawn struct {
	Tasks   int     `json:"tasks"`
	PauseMs float64 `json:"pause_ms"`
	ran     atomic.Int64
}

func init() { workloads["spawn"] = func() workload { return new(spawn) } }

func (s *spawn) inFlight() *int    { return &s.Tasks }
func (s *spawn) finite() bool      { return true }
func (s *spawn) setUp() error      { return nil }
func (s *spawn) operations() int64 { return s.ran.Load() }

// run starts all goroutines and waits for all; it is an error if one did not run.
func (s *spawn) run() error {
	pause := seconds(s.PauseMs / 1e3)
	var all sync.WaitGroup
	for range s.Tasks {
		all.Add(1)
		go func() {
			if pause > 0 {
				time.Sleep(pause)
			}
			s.ran.Add(1)
			all.Done()
		}()
	}
	all.Wait()
	if ran := s.ran.Load(); ran != int64(s.Tasks) {
		return fmt.Errorf("%d of %d tasks ran to their end", ran, s.Tasks)
	}
	return nil
}
