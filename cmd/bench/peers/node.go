package main

import (
	"bufio"
	"fmt"
	"net/netip"
	"os"
	"sync/atomic"
	"syscall"
	"time"
)

// A node tells its parent on its standard output, a line each:
//
//	up I, down I     with the wall clock in ns in front: what it was told
//	stats B M C      payload bytes and messages sent so far, CPU time in ns
//
// and answers each line on its standard input with its statistics. It ends with
// its standard input.

// sent counts what a node has sent.
type sent struct{ bytes, messages atomic.Uint64 }

func (s *sent) add(n int) {
	s.bytes.Add(uint64(n))
	s.messages.Add(1)
}

// addressOf is the loopback address of a node.
func addressOf(i int) netip.Addr { return netip.AddrFrom4([4]byte{127, 0, 77, byte(i + 1)}) }

// indexOf is the reverse of addressOf.
func indexOf(a netip.Addr) int { return int(a.As4()[3]) - 1 }

// tell tells the parent that a node is up or down.
func tell(i int, up bool) {
	word := "down"
	if up {
		word = "up"
	}
	fmt.Printf("%d %s %d\n", time.Now().UnixNano(), word, i)
}

// beNode is the life of a node.
func (o *options) beNode() int {
	var count sent
	var err error
	if o.asNode == "gossip" {
		err = o.startGossip(&count)
	} else {
		err = o.startMemberlist(&count)
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "node %d: %v\n", o.index, err)
		return 1
	}
	in := bufio.NewScanner(os.Stdin)
	for in.Scan() {
		var use syscall.Rusage
		if err := syscall.Getrusage(syscall.RUSAGE_SELF, &use); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		cpu := time.Duration(use.Utime.Nano() + use.Stime.Nano())
		fmt.Printf("%d stats %d %d %d\n", time.Now().UnixNano(), count.bytes.Load(), count.messages.Load(), cpu)
	}
	return 0
}
