//go:build race

package softroce

import (
	"runtime"
	"unsafe"
)

// sent is where the race detector learns that what was done before a datagram left
// was done before it arrived, which package syscall tells it of its own calls.
var sent int64

func raceSend()    { runtime.RaceReleaseMerge(unsafe.Pointer(&sent)) }
func raceReceive() { runtime.RaceAcquire(unsafe.Pointer(&sent)) }
