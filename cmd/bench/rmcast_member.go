package main

import (
	"errors"
	"net/netip"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"ulnet/cmd/bench/worker"
	"ulnet/scoll/rmcast"
	"ulnet/scoll/tree"
)

// casterOrder orders the process of a member to send messages.
type casterOrder struct {
	Bytes int

	// These fields are for messages that are sent one at a time: Warm of them warm up, and Count of
	// them are measured.
	Warm, Count int
	Look        time.Duration // how long plain sockets are polled before the process waits for them

	// This field is for streams.
	Rate float64 // largest number of messages per second; 0 means no limit
}

// casterReport contains the counters of a member.
type casterReport struct {
	Received casterReceipts
	Plain    uint64 // datagrams that have arrived and that members had sent by the order "blast"
	Sent     uint64 // datagrams that were sent, without repairs
	Repairs  uint64 // payloads that were sent again
	Connects uint64 // TCP connections that this host has opened since its start
}

// casterTree is the tree of acknowledgements.
func casterTree(members int) tree.Tree { return tree.Tree{Topology: tree.KNomial(2), N: members} }

// serveCaster starts two members in a process: one of rmcast, and one that uses plain sockets.
func serveCaster(w *worker.Worker, setup memberSetup) netip.AddrPort {
	plain := newPlainCaster(setup)
	w.Defer(plain.close)
	ours := newCaster(setup)
	w.Defer(ours.close)
	worker.Order(w, "join", returning(func(addrs []netip.AddrPort) bool {
		plain.connect(setup.Rank, addrs)
		return must(true, ours.gather(len(setup.Addrs)))
	}))
	worker.Order(w, "report", returning(func(struct{}) casterReport {
		r := ours.report()
		r.Plain, r.Connects = plain.blasted.Load(), activeOpens()
		return r
	}))
	worker.Order(w, "forget", func(struct{}) (bool, error) { // this order resets the counters of received messages
		ours.receipts.forget()
		plain.blasted.Store(0)
		return true, nil
	})
	worker.Order(w, "faults", func(f rmcast.Faults) (bool, error) { // this order discards some of the datagrams that arrive from now on
		ours.group.SetFaults(f)
		return true, nil
	})
	worker.Order(w, "ours", ours.oneByOne)   // this order sends Count messages, each after all members have received the one before
	worker.Order(w, "plain", plain.oneByOne) // this order does the same as "ours", but with plain sockets
	worker.Order(w, "stream", ours.stream)   // this order sends as many messages at a time as the window allows, and ends when all members have received all of them
	worker.Order(w, "blast", plain.blast)    // this order sends plain datagrams, which may be lost
	return plain.tree.addr()
}

// activeOpens returns how many TCP connections this host has opened, from the counters of the
// system.
func activeOpens() uint64 {
	var names []string
	for text := range strings.Lines(string(must(os.ReadFile("/proc/self/net/snmp")))) {
		fields := strings.Fields(text)
		switch {
		case len(fields) == 0 || fields[0] != "Tcp:":
		case names == nil:
			names = fields
		default:
			if i := slices.Index(names, "ActiveOpens"); i > 0 && i < len(fields) {
				return must(strconv.ParseUint(fields[i], 10, 64))
			}
		}
	}
	return must(uint64(0), errors.New("the system does not say how often it connected"))
}
