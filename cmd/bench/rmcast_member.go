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

// casterOrder asks such a process for messages.
type casterOrder struct {
	Bytes int

	// Of what is measured one at a time.
	Warm, Count int
	Look        time.Duration // plain sockets are looked at for so long before a wait

	// Of streams.
	Rate float64 // messages a second at most; 0: as fast as it goes
}

// casterReport is what a member says of itself.
type casterReport struct {
	Received casterReceipts
	Plain    uint64 // datagrams of blasts
	Sent     uint64 // datagrams, each once
	Repairs  uint64 // payloads that were sent again
	Connects uint64 // of this host so far, as it says
}

// casterTree is the tree of acknowledgements.
func casterTree(members int) tree.Tree { return tree.Tree{Topology: tree.KNomial(2), N: members} }

// serveCaster is the process of a member.
func serveCaster(w *worker.Worker, setup memberSetup) (raw netip.AddrPort, err error) {
	plain, err := newPlainCaster(setup)
	if err != nil {
		return raw, err
	}
	w.Defer(plain.close)
	ours, err := newCaster(setup)
	if err != nil {
		return raw, err
	}
	w.Defer(ours.close)
	worker.Order(w, "join", func(addrs []netip.AddrPort) (bool, error) {
		if err := plain.connect(setup.Rank, addrs); err != nil {
			return false, err
		}
		return true, ours.gather(len(setup.Addrs))
	})
	worker.Order(w, "report", func(struct{}) (r casterReport, err error) {
		r = ours.report()
		r.Plain = plain.blasted.Load()
		r.Connects, err = activeOpens()
		return r, err
	})
	worker.Order(w, "forget", func(struct{}) (bool, error) { // what was received so far
		ours.receipts.forget()
		plain.blasted.Store(0)
		return true, nil
	})
	worker.Order(w, "faults", func(f rmcast.Faults) (bool, error) { // discard a part of what arrives from now on
		ours.group.SetFaults(f)
		return true, nil
	})
	worker.Order(w, "ours", ours.oneByOne)   // Count messages, each when all have the last
	worker.Order(w, "plain", plain.oneByOne) // the same with plain sockets
	worker.Order(w, "stream", ours.stream)   // as many in flight as the window takes, until all have all
	worker.Order(w, "blast", plain.blast)    // plain datagrams, which may be lost
	return plain.tree.addr(), nil
}

// activeOpens is how often processes of this host have connected by TCP, as the system
// counts.
func activeOpens() (uint64, error) {
	b, err := os.ReadFile("/proc/self/net/snmp")
	if err != nil {
		return 0, err
	}
	var names []string
	for text := range strings.Lines(string(b)) {
		fields := strings.Fields(text)
		switch {
		case len(fields) == 0 || fields[0] != "Tcp:":
		case names == nil:
			names = fields
		default:
			if i := slices.Index(names, "ActiveOpens"); i > 0 && i < len(fields) {
				return strconv.ParseUint(fields[i], 10, 64)
			}
		}
	}
	return 0, errors.New("the system does not say how often it connected")
}
