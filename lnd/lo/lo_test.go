package lo

import (
	"testing"

	"go.uber.org/goleak"

	"ulnet/lnd"
	"ulnet/lnd/lndtest"
	"ulnet/lnet/machine"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestDriver(t *testing.T) {
	lndtest.Run(t, lndtest.Harness{
		Start: func(t *testing.T, up, _ lnd.Upcalls) (lnd.NI, lnd.NI) {
			ni, err := Driver{}.Startup(lnd.Config{Clock: machine.RealClock(), Incarnation: 7}, up)
			if err != nil {
				t.Fatal(err)
			}
			return ni, ni
		},
		Incarnation: func(lnd.NI) uint64 { return 7 },
	})
}
