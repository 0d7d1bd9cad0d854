package simlnd

import (
	"testing"
	"time"

	"ulnet/lnd"
	"ulnet/lnd/lndtest"
	"ulnet/lnd/sim"
)

// TestContract runs the suite of all drivers; waiting advances virtual time.
func TestContract(t *testing.T) {
	var fabric *Fabric
	lndtest.Run(t, lndtest.Harness{
		Unreachable: NID(7),
		Incarnation: func(n lnd.NI) uint64 { return n.(*ni).host.LNetIncarnation() },
		Start: func(t *testing.T, a, b lnd.Upcalls) (lnd.NI, lnd.NI) {
			var nis [2]lnd.NI
			flat := &sim.Flat{}
			flat.Link.Latency.Base = time.Millisecond
			var err error
			fabric, err = New(Config{Nodes: 2, Topology: flat, Boot: func(h, _ *Host) {
				var err error
				nis[h.ID()], err = h.Driver().Startup(lnd.Config{Net: Net, Clock: h.Clock()}, []lnd.Upcalls{a, b}[h.ID()])
				if err != nil {
					t.Error(err)
				}
			}})
			if err != nil {
				t.Fatal(err)
			}
			if err := fabric.Run(0); err != nil {
				t.Fatal(err)
			}
			return nis[0], nis[1]
		},
		Await: func(cond func() bool) bool {
			for range 2000 {
				if cond() {
					return true
				}
				if err := fabric.Run(fabric.Now() + 10*time.Millisecond); err != nil {
					t.Error(err)
					return false
				}
			}
			return cond()
		},
	})
}
