//go:build !linux

// Package cputime measures how long a test computes, however busy the machine is.
package cputime

import "time"

// Of returns the time that f takes. On this system it includes time during which other
// threads had the CPU.
func Of(f func()) time.Duration {
	begin := time.Now()
	f()
	return time.Since(begin)
}
