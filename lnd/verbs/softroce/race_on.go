//go:build race

package softroce

import (
	"runtime"
	"unsafe"
)

// sent lets the race detector see that what a goroutine does before it sends a datagram happens
// before another one receives it. Package syscall does this for its own calls; this package makes
// the system calls itself.
var sent int64

func raceSend()    { runtime.RaceReleaseMerge(unsafe.Pointer(&sent)) }
func raceReceive() { runtime.RaceAcquire(unsafe.Pointer(&sent)) }
