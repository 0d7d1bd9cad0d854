package main

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"ulnet/cmd/internal/cli"
	"ulnet/cmd/internal/modules/health"
)

// TestServerList: the command shows what this server knows of the other servers, and what it
// does not know.
func TestServerList(t *testing.T) {
	f := serveFake(t)
	_, out, _ := f.lnetctl(t.Context(), "server", "list")
	want := `NID           ALIVE  DEATHS  CLIENTS  DRAINING
10.0.0.1@tcp  yes    0       2        no  (this server)
10.0.0.2@tcp  no     3       0        ?
`
	if diff := cmp.Diff(want, out); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	_, out, _ = f.lnetctl(t.Context(), "server", "list", "--json")
	var doc struct{ Servers []health.Peer }
	if err := json.Unmarshal([]byte(out), &doc); err != nil || len(doc.Servers) != 2 || doc.Servers[1].Draining != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

// TestDrain: the command waits until no client has this server as its master and all evictions
// have reached all servers. It prints the progress once for each step.
func TestDrain(t *testing.T) {
	f := serveFake(t)
	f.status = func(look int) (health.Status, error) {
		switch {
		case look < 3:
			return serverWith(9, 4, 1, 5), nil
		case look < 5:
			return serverWith(9, 0, 1, 5), nil
		}
		return serverWith(9, 0, 0, 5), nil
	}
	code, out, errs := f.lnetctl(t.Context(), "server", "drain")
	wantTalk := `10.0.0.1@tcp is draining: clients that have it as their master: 4; broadcasts of evictions on their way: 1
10.0.0.1@tcp is draining: clients that have it as their master: 0; broadcasts of evictions on their way: 1
`
	if code != cli.OK || out != "10.0.0.1@tcp is drained: it is nobody's master; connections that stay: 9\n" || errs != wantTalk {
		t.Errorf("%d\n%s%s", code, out, errs)
	}
	if code, _, errs := f.lnetctl(t.Context(), "server", "undrain"); code != cli.OK || !slices.Equal(f.drained, []bool{true, false}) {
		t.Errorf("%d, %v\n%s", code, f.drained, errs)
	}
}

// TestDrainEnds: with --no-wait the command does not wait. Otherwise it stops waiting when its time
// limit is over, when the server stops draining, and after an interrupt.
func TestDrainEnds(t *testing.T) {
	interrupted, interrupt := context.WithCancel(t.Context())
	defer interrupt()
	atOnce, interruptAtOnce := context.WithCancel(t.Context())
	defer interruptAtOnce()
	before, stop := context.WithCancel(t.Context())
	stop()
	for _, c := range []struct {
		name   string
		ctx    context.Context
		alive  int
		stop   func(f *fakeServer, look int) error
		args   []string
		code   int
		wanted string
	}{
		{"at once", t.Context(), 5, nil, []string{"--no-wait"}, cli.OK, "is draining: clients that have it as their master: 4\n"},
		{"too long", t.Context(), 5, nil, []string{"--timeout", "50ms"}, cli.Failed, "not drained after 50ms: 10.0.0.1@tcp is draining"},
		{"who is left", t.Context(), 5, nil, []string{"--timeout", "50ms"}, cli.Failed, "'lnetctl client list --master 10.0.0.1@tcp' shows who is left"},
		{"alone", t.Context(), 1, nil, []string{"--timeout", "50ms"}, cli.Failed, "no other server is alive"},
		{"undrained", t.Context(), 5, func(f *fakeServer, look int) error {
			f.draining = look < 3
			return nil
		}, nil, cli.Failed, "this server does not drain any more"},
		{"an error", t.Context(), 5, func(_ *fakeServer, look int) error {
			if look > 2 {
				return errors.New("it is gone")
			}
			return nil
		}, nil, cli.Failed, "it is gone"},
		{"an interrupt", interrupted, 5, func(_ *fakeServer, look int) error {
			if look > 1 {
				interrupt()
			}
			return nil
		}, nil, cli.Failed, "interrupted: 10.0.0.1@tcp is draining"},
		{"an interrupt at once", atOnce, 5, func(*fakeServer, int) error {
			interruptAtOnce()
			return errors.New("too late")
		}, nil, cli.Failed, "interrupted: this server is draining\n  it goes on draining: 'lnetctl server drain' waits again"},
		{"an interrupt before", before, 5, nil, nil, cli.Failed, "interrupted: this server may be draining\n  see 'lnetctl server list'"},
		{"both", t.Context(), 5, nil, []string{"--no-wait", "--timeout", "5s"}, cli.Usage, "no-wait"},
	} {
		f := serveFake(t)
		f.status = func(look int) (health.Status, error) {
			if c.stop != nil {
				if err := c.stop(f, look); err != nil {
					return health.Status{}, err
				}
			}
			return serverWith(9, 4, 0, c.alive), nil
		}
		code, out, errs := f.lnetctl(c.ctx, append([]string{"server", "drain"}, c.args...)...)
		if code != c.code || !strings.Contains(out+errs, c.wanted) {
			t.Errorf("%s: %d\n%s%s", c.name, code, out, errs)
		}
	}
}

// TestDrainJSON: the state is printed as an object, even if the command fails.
func TestDrainJSON(t *testing.T) {
	f := serveFake(t)
	f.status = func(int) (health.Status, error) { return serverWith(9, 4, 2, 5), nil }
	code, out, _ := f.lnetctl(t.Context(), "server", "drain", "--timeout", "20ms", "--json")
	var doc drainDoc
	want := drainDoc{Mastered: 4, Clients: 9, Evictions: 2, Alive: 5, Self: "10.0.0.1@tcp"}
	if err := json.Unmarshal([]byte(out), &doc); err != nil || code != cli.Failed || doc != want {
		t.Errorf("%d, %v\n%s", code, err, out)
	}
}
