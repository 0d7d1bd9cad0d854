package config

import (
	"testing"

	"ulnet/cmd/internal/drivers"
	"ulnet/lnd"
)

// unplaced is a driver with a tunable for which reference.yaml has no position.
type unplaced struct {
	drivers.Driver
	name, section string
}

func (d *unplaced) Name() string    { return d.name }
func (d *unplaced) Section() string { return d.section }
func (d *unplaced) Tunables() []lnd.Tunable {
	return []lnd.Tunable{lnd.Tune(d.name+"_queue", 7, lnd.Number(new(int), 1, 9), "How much waits.")}
}

// TestUnplacedTunables: a tunable for which the reference has no position comes at its end, in
// the section of the driver if the driver has one.
func TestUnplacedTunables(t *testing.T) {
	got := referenceOf("credits: 256\n", []drivers.Driver{&unplaced{name: "a", section: "gni"}, &unplaced{name: "b"}})
	want := "credits: 256\n\ngni:\n  # How much waits.\n  a_queue: 7\n\n# How much waits.\nb_queue: 7\n"
	if got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
