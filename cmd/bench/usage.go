package main

import (
	"bytes"
	"os"
	"runtime"
	"strconv"
	"syscall"
	"time"
)

// usage is what a process has used, or several.
type usage struct {
	CPU     time.Duration
	Mallocs uint64 // heap objects
}

// ownUsage is what this process has used. It is an order of workers.
func ownUsage(struct{}) (usage, error) { return usage{cpuTime(), ownMallocs()}, nil }

func (u usage) minus(v usage) usage { return usage{u.CPU - v.CPU, u.Mallocs - v.Mallocs} }

func (u usage) plus(v usage) usage { return usage{u.CPU + v.CPU, u.Mallocs + v.Mallocs} }

// cpuTime returns the CPU time that this process has used.
func cpuTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic(err) // cannot fail with these arguments
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// ownMallocs is the number of heap objects that this process has allocated.
func ownMallocs() uint64 { return memStats().Mallocs }

// liveHeap is what the heap takes after a collection.
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
