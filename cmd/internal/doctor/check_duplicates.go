package doctor

import (
	"errors"
	"sync"
	"time"
)

// each calls f with the numbers from 0 to n-1, with several at a time, and returns after all calls.
func each(n int, f func(int)) {
	var running sync.WaitGroup
	free := make(chan struct{}, maxAtOnce)
	for i := range n {
		free <- struct{}{}
		running.Go(func() {
			defer func() { <-free }()
			f(i)
		})
	}
	running.Wait()
}

// longestClaim is how long a check waits at most for the claim of another host. Usually there is no
// claim, so that a check waits for all of that time.
const longestClaim = time.Second

// claim is the answer to the question whether another host has an address of this host.
type claim struct {
	by  string // hardware address of the other host, "" if there is none
	err error
}

// duplicates asks whether another host has an address of this node.
func (e *exam) duplicates() {
	nis := e.nis()
	claims := make([]claim, len(nis))
	asks := func(i int) bool { a := nis[i].NID.Addr(); return a.IsValid() && !a.IsLoopback() }
	each(len(nis), func(i int) {
		if asks(i) {
			claims[i].by, claims[i].err = e.host.Claimant(e.ctx, nis[i].Interface, nis[i].NID.Addr(), min(e.opts.Timeout, longestClaim))
		}
	})
	for i, c := range claims {
		id := nis[i].NID
		switch {
		case !asks(i):
		case errors.Is(c.err, ErrNotPermitted):
			e.unknown(id, "run it as root", "sending requests of ARP is not permitted")
		case c.err != nil && e.late(id):
		case c.err != nil:
			e.unknown(id, "ask from another host of the network: 'arping "+id.Addr().String()+"'", "%v", c.err)
		case c.by != "":
			e.fail(id, "give one of the two hosts another address; the switch knows the port of that hardware address", "%s has the address %v, too", c.by, id.Addr())
		default:
			e.ok(id, "no other host has %v", id.Addr())
		}
	}
}
