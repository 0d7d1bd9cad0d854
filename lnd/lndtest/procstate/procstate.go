// Package procstate tells tests what the kernel says about the processes that they started.
package procstate

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// Stopped reports whether every thread of a process is stopped (SIGSTOP). Its threads run on
// until one of them has handled the signal, so kill returns before they have stopped.
func Stopped(pid int) bool {
	threads, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stat", pid)) // cannot fail: the pattern is valid
	for _, file := range threads {
		stat, err := os.ReadFile(file)
		_, state, found := strings.Cut(string(stat), ") ") // the state follows the program's name
		if err != nil || !found || state[0] != 'T' {
			return false
		}
	}
	return len(threads) > 0
}
