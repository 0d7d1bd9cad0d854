package main

import (
	"testing"

	"ulnet/cmd/internal/control"
	"ulnet/cmd/internal/node"
)

// TestAddNumber: on a network whose NIDs have numbers in the place of addresses, 'net add --nid' starts an NI by its
// number.
func TestAddNumber(t *testing.T) {
	var got string
	f := &fakeServer{socket: serveNode(t, []control.Route{
		node.OpAddNetworks.Do(control.Act(func(r node.AddRequest) error { got = r.Networks; return nil })),
	}, new(control.Events))}
	for id, want := range map[string]string{"9@gni": "gni(9)", "10.0.0.1@tcp1": "tcp1(10.0.0.1)", "fd00::1@tcp": "tcp(fd00::1)"} {
		if code, _, errs := f.lnetctl(t.Context(), "net", "add", "--nid", id); code != 0 || got != want {
			t.Errorf("%s: networks %q, want %q; code %d, %s", id, got, want, code, errs)
		}
	}
}
