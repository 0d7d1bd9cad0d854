package main

import (
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestBestOf: the goal bounds only the better of two ways to wait.
func TestBestOf(t *testing.T) {
	tests := []struct {
		name  string
		least bool
		first float64 // ratio of the first line; that of the second is 2
		want  []bool  // the wanted value of the field free of each line
	}{
		{"the second is higher", true, 1, []bool{true, false}},
		{"the second is lower", true, 3, []bool{false, true}},
		{"the second costs more", false, 1, []bool{false, true}},
		{"the second costs less", false, 3, []bool{true, false}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var got []bool
			for _, l := range bestOf([]line{{ratio: tt.first, least: tt.least}, {ratio: 2, least: tt.least}}) {
				got = append(got, l.free)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("lines without a goal: -want +got:\n%s", diff)
			}
		})
	}
}

// TestNATSCallers: callers of NATS get their answers. NATS is built only for the long suite.
func TestNATSCallers(t *testing.T) {
	peers := peersForTest(t)
	if peers == "" {
		t.Skip("NATS is built only by make test-long, where it can be fetched")
	}
	const trips = 1000
	b := &bench{stderr: os.Stderr}
	defer b.close()
	_, err := b.measure(t.Context(), func(m *measurement) {
		c := m.natsProcesses(peers, trips)
		m.alternate(2, c)
		if len(c.all) != 2 || c.all[0][0] <= 0 || c.cpu[1] <= 0 {
			t.Errorf("%+v", c)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
}
