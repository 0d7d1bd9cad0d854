package main

import (
	"bytes"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"syscall"
	"time"
)

// usage contains the resources that one or more processes have used.
type usage struct {
	CPU     time.Duration
	Mallocs uint64 // number of heap objects allocated
}

// ownUsage returns the usage of this process. Workers also offer it as an order.
func ownUsage(struct{}) (usage, error) { return usage{cpuTime(), ownMallocs()}, nil }

func (u usage) minus(v usage) usage { return usage{u.CPU - v.CPU, u.Mallocs - v.Mallocs} }

func (u usage) plus(v usage) usage { return usage{u.CPU + v.CPU, u.Mallocs + v.Mallocs} }

// cost is the resources that were used for a number of messages.
type cost struct {
	usage
	messages uint64
}

// each returns the CPU time per message.
func (c cost) each() time.Duration { return c.CPU / time.Duration(c.messages) }

// allocations returns the line of heap objects per message.
func (c cost) allocations(what, more string) line {
	return line{
		what: what, ratio: float64(c.Mallocs) / float64(c.messages), unit: "objects", limit: 0.05,
		basis: fmt.Sprintf("%d messages, %d objects%s", c.messages, c.Mallocs, more),
	}
}

// allocationsOf returns the average number of heap objects that a call allocates. As in
// testing.AllocsPerRun, the average is rounded down, because the runtime also allocates objects.
func allocationsOf(calls int, f func()) float64 {
	f()
	before := ownMallocs()
	for range calls {
		f()
	}
	return float64((ownMallocs() - before) / uint64(calls))
}

// simulated runs a simulation in this goroutine, and returns the resources that this process
// used for it.
func (m *measurement) simulated(run func() error) usage {
	runtime.GC()
	before, _ := ownUsage(struct{}{})
	m.check(run())
	after, _ := ownUsage(struct{}{})
	return after.minus(before)
}

// cpuTime returns the CPU time of this process so far.
func cpuTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic(err) // Getrusage cannot fail with these arguments
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// ownMallocs returns the number of heap objects that this process has allocated.
func ownMallocs() uint64 { return memStats().Mallocs }

// liveHeap returns the bytes of the heap after a garbage collection.
func liveHeap() uint64 {
	runtime.GC()
	return memStats().HeapAlloc
}

func memStats() (s runtime.MemStats) {
	runtime.ReadMemStats(&s)
	return s
}

// residentMemory returns this process's resident memory in bytes.
func residentMemory() (bytesUsed int64) {
	b, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		return 0
	}
	pages, _ := strconv.ParseInt(string(bytes.Fields(b)[1]), 10, 64)
	return pages * int64(os.Getpagesize())
}
