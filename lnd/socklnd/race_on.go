//go:build race

package socklnd

import (
	"runtime"
	"unsafe"
)

// networkOrder tells the race detector that a read of bytes from a connection happens after
// everything that happened before these bytes were written, as package syscall does.
var networkOrder int64

func raceRead() { runtime.RaceAcquire(unsafe.Pointer(&networkOrder)) }

func raceWrite() { runtime.RaceReleaseMerge(unsafe.Pointer(&networkOrder)) }
