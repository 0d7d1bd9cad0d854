//go:build linux

package main

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"ulnet/cmd/internal/commands"
	"ulnet/cmd/internal/control"
	"ulnet/cmd/internal/modules/selftest"
	"ulnet/cmd/internal/node"
	"ulnet/cmd/internal/transcript"
	"ulnet/lnd/lndtest/effort"
	"ulnet/lnd/lndtest/netlab"
	"ulnet/lnd/lndtest/spec"
	selftestnode "ulnet/lnet/selftest"
)

// site is a console, host C, and three test nodes, hosts 1 to 3, each with a daemon.
type site struct {
	*stage
	network string
	console string // host of the console
}

// newSite starts the daemons of a site on a network, and makes a session with the groups one, two, three and all.
func newSite(t *testing.T, bin, network string) *site {
	t.Helper()
	s := &site{&stage{transcript.NewStage(t, bin)}, network, "C"}
	lab := netlab.New(t)
	net := lab.Switch("89")
	for i, name := range []string{"1", "2", "3", "C"} {
		s.Hosts[name] = lab.Host(name)
		lab.Cable(s.Hosts[name], fmt.Sprintf("10.89.0.%d/24", 1+i), net, "")
		s.Start(name, network+"(eth0)", "selftest: 1\n")
	}
	s.must("new_session --timeout 300 site")
	s.must("add_group one " + s.nid("1"))
	s.must("add_group two " + s.nid("2"))
	s.must("add_group three " + s.nid("3"))
	s.must("add_group all " + s.nid("[1-3]"))
	return s
}

// slow adds a latency to messages from the nodes 1 and 3 to node 2. Tests without an end then send fewer
// RPCs, and do not take all processors.
func (s *site) slow() {
	s.T.Helper()
	rule := node.AddFault{Statement: "from " + s.nid("[1,3]") + " to " + s.nid("2") + " latency 20ms"}
	if _, err := node.OpAddFault.Call(s.T.Context(), control.NewClient(s.Socket("2")), rule); err != nil {
		s.T.Fatal(err)
	}
}

// nid returns the NID of a node, or of nodes in brackets.
func (s *site) nid(node string) string { return "10.89.0." + node + "@" + s.network }

// must runs a command of lst at the console, and returns its output. If the command fails, so does
// the test.
func (s *site) must(command string) string {
	s.T.Helper()
	return s.exits(0, s.console, command)
}

// exits runs a command of lst at a host, and returns its output. If the exit code is not want, the
// test fails.
func (s *site) exits(want int, host, command string) string {
	s.T.Helper()
	out, errs, code := s.run(host, "export LST_SESSION="+host+"89; lst "+command)
	if code != want {
		s.T.Fatalf("lst %s: exit code %d, want %d\n%s%s", command, code, want, out, errs)
	}
	return out
}

// answer runs a command with --json at the console, and parses its output.
func answer[T any](s *site, code int, command string) (doc T) {
	s.T.Helper()
	out := s.exits(code, s.console, command+" --json")
	if err := json.Unmarshal([]byte(out), &doc); err != nil {
		s.T.Fatalf("lst %s: %v\n%s", command, err, out)
	}
	return doc
}

// TestAcceptance does all that an administrator does with lst, with a console and three nodes in
// network namespaces, over TCP and over RDMA in software. Then a node dies, and then the console.
func TestAcceptance(t *testing.T) {
	spec.Covers(t, "ST-25", "ST-27", "ST-48")
	bin, err := commands.Build(t.TempDir(), "lnetd")
	if err != nil {
		t.Fatal(err)
	}
	for _, network := range []string{"tcp", "o2ib"} {
		t.Run(network, func(t *testing.T) {
			if testing.Short() && network != "tcp" {
				t.Skip("one network is enough for a short test")
			}
			t.Parallel()
			s := newSite(t, bin, network)
			s.distributions()
			s.sizes()
			s.slow()
			s.stops()
			s.deadNode()
			s.deadConsole()
		})
	}
}

// ends runs a batch to its end, and checks that it has sent want RPCs and that none has failed.
func (s *site) ends(batch string, want uint64) {
	s.T.Helper()
	d := answer[runDoc](s, 0, "run --wait "+batch)
	if d.RPCs != want || d.Expected != want {
		s.T.Errorf("batch %s: %d RPCs of %d, want %d", batch, d.RPCs, d.Expected, want)
	}
	if out := s.must("show_error --session all"); out != "all:\nTotal 0 error nodes in all\n" {
		s.T.Error(out)
	}
}

// distributions runs ping tests from one node to one, from one to three and from three to one.
func (s *site) distributions() {
	s.T.Helper()
	for _, tt := range []struct{ from, to, distribute, clients, servers string }{
		{"one", "two", "1:1", "1", "2"},
		{"one", "all", "1:3", "1", "123"},
		{"all", "three", "3:1", "123", "3"},
	} {
		batch := tt.from + "-" + tt.to
		s.must("add_batch " + batch)
		s.must(fmt.Sprintf("add_test --batch %s --loop 5 --concurrency 2 --distribute %s --from %s --to %s ping", batch, tt.distribute, tt.from, tt.to))
		s.ends(batch, uint64(len(tt.clients)*len(tt.servers)*5*2))
	}
}

// sizes runs brw tests with every kind of check, in both directions: with the smallest, a common and
// the largest size, and with an offset; in the long form with every power of two and its neighbors.
func (s *site) sizes() {
	s.T.Helper()
	s.must("add_batch sizes")
	tests, sizes := 0, []string{"8", "4088 off=8", "64K", "1M"}
	if effort.Long() {
		for n := 16; n <= 1<<20; n *= 2 {
			sizes = append(sizes, fmt.Sprint(n-8), fmt.Sprint(n))
		}
	}
	for _, op := range []string{"read", "write"} {
		for _, check := range []string{"", " check=simple", " check=full"} {
			for _, size := range sizes {
				s.must(fmt.Sprintf("add_test --batch sizes --loop 2 --from all --to all brw %s%s size=%s", op, check, size))
				tests++
			}
		}
	}
	s.ends("sizes", uint64(tests*3*2))
}

// stops: a batch without end runs until it is stopped, gently or by force.
func (s *site) stops() {
	s.T.Helper()
	s.must("add_batch endless")
	s.must("add_test --batch endless --concurrency 2 --from one --to two ping")
	s.must("add_test --batch endless --from three --to two brw write check=full size=64K")
	for _, stop := range []string{"stop endless", "stop --force endless"} {
		s.must("run endless")
		s.says("query endless", 0, "endless [0] is running")
		s.moves("two")
		s.says(stop, 0, "Batch is stopped")
		s.says("query endless", 0, "endless [0] is stopped")
	}
}

// moves checks that the nodes of a group send RPCs in at least one of 20 seconds. In the other seconds, a
// busy machine may keep them from sending any.
func (s *site) moves(group string) {
	s.T.Helper()
	var out string
	for range 20 {
		out = s.must("stat --count 1 --delay 1 " + group)
		if strings.Contains(out, "RPC/s") && !strings.Contains(out, "Avg: 0 ") {
			return
		}
	}
	s.T.Errorf("nothing moves:\n%s", out)
}

// says runs a command at the console, and checks that its output has the given line.
func (s *site) says(command string, code int, line string) {
	s.T.Helper()
	if out := s.exits(code, s.console, command); !strings.Contains("\n"+out, "\n"+line+"\n") {
		s.T.Errorf("lst %s says\n%swant\n%s", command, out, line)
	}
}

// deadNode: one of two clients dies while a batch runs. The console says so, and the other client goes on until it is
// stopped.
func (s *site) deadNode() {
	s.T.Helper()
	s.must("run endless")
	s.Kill("3")
	s.says("ping --timeout 10 --group three", 254, "\t12345-"+s.nid("3")+": Down [session: <NULL> id: <?>]")
	s.says("query --timeout 10 endless", 254, "endless [0] 1 of 2 nodes are unknown, stopped: 0 , running: 1, failed: 0")
	s.says("stat --timeout 10 --count 1 --delay 1 all", 254, "Failed to stat on 1 nodes")
	s.says("stat --count 1 --delay 1 two", 0, "[LNet Rates of two]")
	s.exits(254, "C", "stop endless")
	s.must("end_session")
	if one := s.status("1"); one.Session != "none" || one.Calls != 0 {
		s.T.Errorf("after the end of the session: %+v", one)
	}
}

// deadConsole: the console dies while a batch runs. Its nodes keep their session, so another
// console gets them only with --force, which ends the batch.
func (s *site) deadConsole() {
	s.T.Helper()
	s.must("new_session dies")
	s.must("add_group one " + s.nid("1"))
	s.must("add_group two " + s.nid("2"))
	s.must("add_batch b")
	s.must("add_test --batch b --from one --to two ping")
	s.must("run b")
	s.Kill("C")
	if one := s.status("1"); one.Name != "dies" {
		s.T.Errorf("the session ended with its console: %+v", one)
	}
	s.exits(0, "2", "new_session polite")
	s.exits(253, "2", "add_group all "+s.nid("1"))
	s.exits(0, "2", "new_session --force heir")
	s.exits(0, "2", "add_group all "+s.nid("[1-2]"))
	if one := s.status("1"); one.Name != "heir" || one.Calls != 0 {
		s.T.Errorf("the tests of the dead console have not ended: %+v", one)
	}
	s.exits(0, "2", "end_session")
	if one := s.status("1"); one.Session != "none" {
		s.T.Errorf("after the end of the second session: %+v", one)
	}
}

// status returns what the daemon of a host says of its test node.
func (s *site) status(host string) selftestnode.Status {
	s.T.Helper()
	d, err := selftest.OpStatus.Call(s.T.Context(), control.NewClient(s.Socket(host)), control.None{})
	if err != nil {
		s.T.Fatal(err)
	}
	return d
}
