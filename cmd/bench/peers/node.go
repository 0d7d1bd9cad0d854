package main

import (
	"bufio"
	"fmt"
	"net/netip"
	"os"
	"strings"
	"sync/atomic"
	"syscall"
	"time"
)

// A node tells its parent on its standard output, a line each:
//
//	up I, down I     with the wall clock in ns in front: what it was told
//	attr I V         it was told that the attribute of I is V now
//	join, leave, set it begins to do so
//	stats B M C      payload bytes and messages sent so far, CPU time in ns
//
// and obeys each line on its standard input: stats, leave, set V. It ends with its
// standard input.

// participant is what a system lets a node do besides being there.
type participant interface {
	leave() error
	set(value string) error
}

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
	say(word, i)
}

// say tells the parent something, with the time.
func say(word string, values ...any) {
	fmt.Println(append([]any{time.Now().UnixNano(), word}, values...)...)
}

// beNode is the life of a node.
func (o *options) beNode() int {
	var count sent
	var m participant
	var err error
	say("join")
	switch o.asNode {
	case "gossip":
		err = o.startGossip(&count)
	case "zone":
		m, err = o.startZone(&count)
	default:
		m, err = o.startMemberlist(&count)
	}
	for in := bufio.NewScanner(os.Stdin); err == nil && in.Scan(); {
		err = obey(m, in.Text(), &count)
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "node %d: %v\n", o.index, err)
		return 1
	}
	return 0
}

// obey does what the parent wants.
func obey(m participant, line string, count *sent) error {
	switch word, value, _ := strings.Cut(line, " "); word {
	case "leave":
		say(word)
		return m.leave()
	case "set":
		say(word)
		return m.set(value)
	}
	var use syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &use); err != nil {
		return err
	}
	cpu := time.Duration(use.Utime.Nano() + use.Stime.Nano())
	say("stats", count.bytes.Load(), count.messages.Load(), int64(cpu))
	return nil
}
