package scoll

import (
	"testing"

	"ulnet/lnd/lndtest/spec"
	"ulnet/scoll/engine"
)

// TestCalledAfterUnregister: SC-12: a service is unregistered after the machine has asked for a call of its
// PreRequest or MapGroup, and before the call begins. The request is refused.
func TestCalledAfterUnregister(t *testing.T) {
	spec.Covers(t, "SC-12")
	d := due{}
	for _, c := range []struct {
		call call
		run  func(*call) engine.Input
		want Status
	}{
		{call{kind: engine.CallPreRequest, r: &Request{}}, func(c *call) engine.Input { return c.r.preRequest(c.id) }, ENOSERVICE},
		{call{kind: engine.CallMap}, mapGroup, ENOTSUP},
	} {
		d.begins(&c.call, 0)
		if in := c.run(&c.call); in.Status != c.want {
			t.Errorf("%v: %v, want %v", c.call.kind, in.Status, c.want)
		}
	}
}
