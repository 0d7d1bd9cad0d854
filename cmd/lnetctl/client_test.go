package main

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"ulnet/cmd/internal/cli"
	healthmod "ulnet/cmd/internal/modules/health"
	"ulnet/health"
	"ulnet/lnd/lndtest/spec"
)

// TestClientList: the list of clients is a table or JSON, and can be filtered by master and
// state.
func TestClientList(t *testing.T) {
	f := serveFake(t)
	f.clients = fakeClients()
	_, out, errs := f.lnetctl(t.Context(), "client", "list")
	want := fmt.Sprintf(`CLIENT                            NAME       STATE      MASTER        EPOCH  PEER                 HEARD
%v  compute-1  connected  10.0.0.1@tcp  2      12345-10.0.0.11@tcp  1.2s ago
%v  -          orphaned   10.0.0.2@tcp  1      12345-10.0.0.12@tcp  for 1m1s
`, health.ClientIDOf("a"), health.ClientIDOf("b"))
	if diff := cmp.Diff(want, out); diff != "" || errs != "" {
		t.Errorf("(-want +got):\n%s%s", diff, errs)
	}
	_, out, errs = f.lnetctl(t.Context(), "client", "list", "--json", "--master", "10.0.0.2@tcp", "--state", "orphaned")
	var list healthmod.ClientList
	if err := json.Unmarshal([]byte(out), &list); err != nil || len(list.Clients) != 1 || list.Clients[0].Client != health.ClientIDOf("b") {
		t.Errorf("%v\n%s", err, out)
	}
	if errs != "1 of 2 clients; --limit has more of them listed\n" {
		t.Errorf("%q", errs)
	}
	for _, args := range [][]string{{"--master", "nobody"}, {"--state", "lost"}, {"--limit", "100001"}, {"--limit", "0"}, {"--limit", "-1"}, {"someone"}} {
		if code, _, errs := f.lnetctl(t.Context(), append([]string{"client", "list"}, args...)...); code != cli.Usage {
			t.Errorf("%v: %d\n%s", args, code, errs)
		}
	}
}

// TestClientShow: client show finds a client by name or id.
func TestClientShow(t *testing.T) {
	f := serveFake(t)
	f.clients = fakeClients()
	_, out, _ := f.lnetctl(t.Context(), "client", "show", "compute-1")
	want := fmt.Sprintf(`client: %v
name: compute-1
life: 7
state: connected
master: 10.0.0.1@tcp
epoch: 2
peer: 12345-10.0.0.11@tcp
heard: 1.2s ago
`, health.ClientIDOf("a"))
	if diff := cmp.Diff(want, out); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	_, out, _ = f.lnetctl(t.Context(), "client", "show", health.ClientIDOf("b").String(), "--json")
	var info health.ClientInfo
	if err := json.Unmarshal([]byte(out), &info); err != nil || info != f.clients[1] {
		t.Errorf("%v\n%s", err, out)
	}
	if code, _, errs := f.lnetctl(t.Context(), "client", "show", "stranger"); code != cli.Failed || !strings.Contains(errs, "look elsewhere") {
		t.Errorf("%d, %s", code, errs)
	}
}

// TestClientTombstones: the clients that a server refuses are shown in a table and as JSON. A
// field that the server does not know is -, and the output says how many more clients there
// are.
func TestClientTombstones(t *testing.T) {
	f := serveFake(t)
	clients := fakeClients()
	f.tombstones = []health.TombstoneInfo{
		{Client: health.ClientIDOf("b"), Incarnation: 9, Age: 90 * time.Second, Left: 510 * time.Second, Server: serverTwo, Withdrawn: true},
		{Client: health.ClientIDOf("a"), Incarnation: 7, Name: "compute-1", Peer: clients[0].Peer, Age: 1234 * time.Millisecond, Left: 598766 * time.Millisecond},
	}
	_, out, errs := f.lnetctl(t.Context(), "client", "tombstones", "compute-1", "--nid", "10.0.0.11@tcp", "--since", "2m", "--limit", "7")
	want := fmt.Sprintf(`AGE    LEFT   CLIENT                            NAME       LIFE  PEER                 TOLD BY
1m30s  8m30s  %v  -          9     -                    10.0.0.2@tcp (withdrawn)
1.2s   9m59s  %v  compute-1  7     12345-10.0.0.11@tcp  -
`, health.ClientIDOf("b"), health.ClientIDOf("a"))
	if diff := cmp.Diff(want, out); diff != "" || errs != "the latest 2 of 7 tombstones; --limit has more of them listed\n" {
		t.Errorf("(-want +got):\n%s%s", diff, errs)
	}
	asked := healthmod.PastFilter{Client: "compute-1", NID: clients[0].Peer.NID, Since: 2 * time.Minute, Limit: 7}
	if len(f.past) != 1 || f.past[0] != asked {
		t.Errorf("asked for %+v", f.past)
	}
	_, out, _ = f.lnetctl(t.Context(), "client", "tombstones", "--json")
	var list healthmod.TombstoneList
	if err := json.Unmarshal([]byte(out), &list); err != nil || len(list.Tombstones) != 2 || list.Tombstones[1] != f.tombstones[1] || !list.More {
		t.Errorf("%v\n%s", err, out)
	}
	for _, args := range [][]string{{"--nid", "nobody"}, {"--since", "-1m"}, {"--limit", "100001"}, {"--limit", "0"}} {
		if code, _, errs := f.lnetctl(t.Context(), append([]string{"client", "tombstones"}, args...)...); code != cli.Usage {
			t.Errorf("%v: %d\n%s", args, code, errs)
		}
	}
}

// TestClientEvict: the command accepts only an exact id, and prints each possible result with
// what to do next (CH-61).
func TestClientEvict(t *testing.T) {
	spec.Covers(t, "CH-61")
	f := serveFake(t)
	id := health.ClientIDOf("a").String()
	for _, c := range []struct {
		result health.Code
		code   int
		wanted string
	}{
		{health.OK, cli.OK, "is being evicted from all servers"},
		{health.NotConnected, cli.Failed, "is not connected to this server\n  'lnetctl client list'"},
		{health.OtherMaster, cli.Failed, "is 10.0.0.2@tcp, and only that one can evict it\n  on 10.0.0.2@tcp: lnetctl client evict " + id},
		{health.Orphaned, cli.Failed, "has not confirmed it yet"},
		{health.Busy, cli.Failed, "try again in a second"},
		{health.NoQuorum, cli.Failed, "was evicted from this server only, which is cut off from most others\n  it may be connected elsewhere"},
		{health.Full, cli.Failed, "was not evicted: full"},
	} {
		f.evicted = healthmod.EvictReply{Result: c.result, Master: serverTwo}
		code, out, errs := f.lnetctl(t.Context(), "client", "evict", id)
		if code != c.code || !strings.Contains(out+errs, c.wanted) {
			t.Errorf("%v: %d\n%s%s", c.result, code, out, errs)
		}
		code, out, _ = f.lnetctl(t.Context(), "client", "evict", id, "--json")
		var r healthmod.EvictReply
		if err := json.Unmarshal([]byte(out), &r); err != nil || code != c.code || r != f.evicted {
			t.Errorf("%v: %d, %v\n%s", c.result, code, err, out)
		}
	}
	f.evicted = healthmod.EvictReply{}
	for _, wrong := range []string{"compute-1", id[:31], id[:8], strings.Repeat("0", 32), ""} {
		code, _, errs := f.lnetctl(t.Context(), "client", "evict", wrong)
		if code != cli.Usage || !strings.Contains(errs, "want its 32 hexadecimal digits, all of them\n  'lnetctl client list'") {
			t.Errorf("%q: %d\n%s", wrong, code, errs)
		}
	}
	if f.evicted.Client.IsValid() {
		t.Errorf("%v was asked for", f.evicted.Client)
	}
}
