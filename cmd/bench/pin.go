package main

import (
	"cmp"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// workerCores is the environment variable from which a pinned bench learns the cores of its
// workers, separated by commas.
const workerCores = "BENCH_WORKER_CORES"

// pin runs this program again on a core of its own, with another core for each worker. It does not return if
// that succeeds; in the program that runs again it returns nil. The program must run again because the Go
// runtime finds out only once, when it starts, how many cores it may use. If the affinity were set later, it
// would keep as many threads as before.
func pin() error {
	if os.Getenv(workerCores) != "" {
		return nil
	}
	cores, err := ownCores()
	if err != nil {
		return err
	}
	if len(cores) < 2 {
		return fmt.Errorf("--pin needs two cores, and this process may use %d", len(cores))
	}
	runtime.LockOSThread()
	if err := bind(cores[:1]); err != nil {
		return err
	}
	return syscall.Exec("/proc/self/exe", os.Args, append(os.Environ(), workerCores+"="+strings.Join(cores[1:], ",")))
}

// ownCores returns the cores that this process may use.
func ownCores() (cores []string, err error) {
	var allowed unix.CPUSet
	if err := unix.SchedGetaffinity(0, &allowed); err != nil {
		return nil, err
	}
	for core := 0; len(cores) < allowed.Count(); core++ {
		if allowed.IsSet(core) {
			cores = append(cores, strconv.Itoa(core))
		}
	}
	return cores, nil
}

// allCores returns the cores that this process and its workers may use.
func allCores() ([]string, error) {
	cores, err := ownCores()
	if list := os.Getenv(workerCores); list != "" {
		cores = append(cores, strings.Split(list, ",")...)
	}
	return cores, err
}

// bind binds the calling thread to some cores.
func bind(cores []string) error {
	var set unix.CPUSet
	for _, core := range cores {
		n, err := strconv.Atoi(core)
		if err != nil {
			return fmt.Errorf("%s: %w", workerCores, err)
		}
		set.Set(n)
	}
	return unix.SchedSetaffinity(0, &set)
}

// pinned returns a function that starts the nth worker on a core of its own, or nil if bench is
// not pinned.
func pinned(nth int) func(start func() error) error {
	list := os.Getenv(workerCores)
	if list == "" {
		return nil
	}
	cores := strings.Split(list, ",")
	return onCores(cores[nth%len(cores)])
}

// onCores returns the function that starts a process which may use these cores only. The Go
// runtime of the process has as many threads as there are cores.
func onCores(cores ...string) func(start func() error) error {
	return func(start func() error) error {
		runtime.LockOSThread() // a process inherits the affinity of the thread that starts it
		defer runtime.UnlockOSThread()
		var own unix.CPUSet
		if err := unix.SchedGetaffinity(0, &own); err != nil {
			return err
		}
		if err := bind(cores); err != nil {
			return err
		}
		return cmp.Or(start(), unix.SchedSetaffinity(0, &own))
	}
}

// onOwnCore starts a process that may use the cores of this process, which is idle while the other runs.
func onOwnCore(start func() error) error { return start() }
