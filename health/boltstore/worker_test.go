package boltstore

import (
	"fmt"
	"io"
	"os"
	"runtime"
	"strconv"
	"time"

	"ulnet/health"
)

// The worker is a process that saves records and prints which callbacks were called. It prints
// each line with one system call, so that no line is lost when the process is killed.
//
//	open          the database is open
//	saved N Incarnation  failed N Incarnation ERRNO
//	removed N Incarnation
const (
	workerVerb    = "boltstore-worker"
	workerUnlinks = "CONNSTORE_WORKER_UNLINKS" // if set, the worker first removes the file of its own program
	workerRounds  = 5
	workerClients = 40
)

// buried is the time at which the worker's tombstones expire.
var buried = time.Unix(1<<33, 0)

// step tells what the worker does with client n in a round. If save is true, the worker saves
// incarnation round+1; otherwise it removes the previous incarnation and leaves a tombstone.
func step(n, round int) (save bool) { return round == 0 || (n+round)%3 != 0 }

// work is the main function of the worker. Each of its rounds is one commit, and it makes the
// same writes in each run.
func work(path, rounds string, out io.Writer) int {
	count, err := strconv.Atoi(rounds)
	if err != nil {
		return 2
	}
	if os.Getenv(workerUnlinks) != "" {
		if err := os.Remove(os.Args[0]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
	}
	runtime.LockOSThread() // keeps the writer goroutine of the store on another thread
	s, err := Open(Config{Path: path, eager: true})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	fmt.Fprintln(out, "open")
	for round := range count {
		workRound(s, round, out)
	}
	if err := s.Close(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

func workRound(s *Store, round int, out io.Writer) {
	all := make(chan struct{})
	left := workerClients
	s.mu.Lock() // held until all calls are queued, so that they share one commit
	hold := s.waiting
	for n := range workerClients {
		incarnation := uint64(round + 1)
		word := "saved"
		r := record(n, incarnation)
		c := call{client: r.Client}
		if step(n, round) {
			c.record, c.err = appendRecord(nil, &r)
		} else {
			word, incarnation = "removed", incarnation-1
			c.key, c.tombstone, c.err = tombstone(&health.Tombstone{Client: r.Client, Incarnation: incarnation, Until: buried.Add(time.Duration(round))})
		}
		c.done = func(err error) {
			line := fmt.Sprintf("%s %d %d\n", word, n, incarnation)
			if err != nil {
				line = fmt.Sprintf("failed %d %d %v\n", n, incarnation, err)
			}
			_, _ = io.WriteString(out, line)
			if left--; left == 0 {
				close(all)
			}
		}
		hold = append(hold, c)
	}
	s.waiting = hold
	s.mu.Unlock()
	s.wake <- struct{}{}
	<-all
}
