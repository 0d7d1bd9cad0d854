package selftest_test

import (
	"errors"
	"testing"

	"ulnet/lnd/lndtest/spec"
	"ulnet/lnet/selftest"
	"ulnet/lnet/selftest/engine"
	"ulnet/lnet/selftest/wire"
	"ulnet/portals"
)

// TestBulk: a server moves the data of a client before it replies. It reports damage, and does
// not reply if it cannot move them.
func TestBulk(t *testing.T) {
	spec.Covers(t, "ST-15", "ST-21")
	const bits, length = 77, 8192
	good := make([]byte, length)
	engine.Fill(good, wire.CheckFull)
	damaged := append([]byte(nil), good...)
	damaged[length-1] ^= 1
	for _, tt := range []struct {
		name   string
		op     wire.BRWOp
		memory []byte
		option portals.MDOption
		status wire.Status
		ok     bool
	}{
		{"write", wire.Write, good, portals.OpGet, wire.OK, true},
		{"damaged write", wire.Write, damaged, portals.OpGet, wire.EBADMSG, true},
		{"short write", wire.Write, good[:length/2], portals.OpGet | portals.Truncate, 0, false},
		{"write without data", wire.Write, nil, portals.OpGet, 0, false},
		{"read", wire.Read, make([]byte, length), portals.OpPut, wire.OK, true},
	} {
		l := newLab(t, 1, selftest.Config{})
		l.hosts[0].Do(func() {
			if tt.memory != nil {
				l.expose(1, bits, tt.memory, tt.option, nil)
			}
		})
		m, ok := l.ask(1, wire.BRWService, &wire.BRW{BulkID: bits, Op: tt.op, Length: length, Check: wire.CheckFull})
		if ok != tt.ok || m.Status != tt.status {
			t.Errorf("%s: %v, %t", tt.name, m.Status, ok)
		}
		if tt.op == wire.Read && !engine.Verify(tt.memory, wire.CheckFull, false) {
			t.Errorf("%s: the data are not the pattern", tt.name)
		}
	}
}

// TestTakenText: the errors of the package are of type Error, and say what to do.
func TestTakenText(t *testing.T) {
	for _, err := range []error{selftest.ErrTaken, selftest.ErrBusy} {
		if e, ok := errors.AsType[*selftest.Error](err); !ok || len(e.Why) < 20 {
			t.Errorf("%v", err)
		}
	}
}
