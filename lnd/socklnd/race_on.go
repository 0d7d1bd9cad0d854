//go:build race

package socklnd

import (
	"runtime"
	"unsafe"
)

// networkOrder is where the race detector learns that what happened before a
// write happened before the read of what was written, as it does in package
// syscall.
var networkOrder int64

func raceRead() { runtime.RaceAcquire(unsafe.Pointer(&networkOrder)) }

func raceWrite() { runtime.RaceReleaseMerge(unsafe.Pointer(&networkOrder)) }
