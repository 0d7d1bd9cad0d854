package node

import (
	"bytes"
	"fmt"

	"ulnet/cmd/internal/statefiles"
	"ulnet/gossip"
)

// GossipFileNames are the names of the state files of gossip.
var GossipFileNames = []string{"parameters", "participants", "clock", "ages", "health", "quorum", "statistics"}

// GossipFiles returns the state of gossip as files, all of the same moment
// (seed 003, Debugging). There are none before an init, and those of an agent
// only while there is one.
func (n *Node) GossipFiles() []statefiles.File {
	p, err := n.GossipParams()
	if err != nil {
		return nil
	}
	status := n.GossipStatus()
	files := []statefiles.File{parametersFile(status.State, p.Params), participantsFile(p)}
	if s := status.Snapshot; s != nil {
		clock := fmt.Appendf(nil, "# clock %d\n", s.Clock)
		files = append(files,
			statefiles.File{Name: "clock", Body: fmt.Appendf(nil, "clock %d\ncycle %d\n", s.Clock, s.Cycle)},
			agesFile(clock, s), healthFile(clock, s),
			statefiles.File{Name: "quorum", Head: clock, Body: fmt.Appendf(nil, "quorum %s\nalive %d\nparticipants %d\npercent %d\n", yesNo(s.Quorum), s.Alive, s.N, p.Params.Quorum)},
			statisticsFile(clock, s))
	}
	return files
}

func parametersFile(state GossipState, p gossip.Params) statefiles.File {
	var b bytes.Buffer
	line := func(name string, value any) { fmt.Fprintln(&b, name, value) }
	line("state", state)
	line("version", p.Version)
	if p.Self.IsValid() {
		line("self", p.Self)
	}
	line("interval_ms", p.IntervalMS)
	line("rtt_ms", p.RTTMS)
	line("participants", p.N)
	line("digest", p.Digest)
	line("dead_after_cycles", p.Limits.Dead)
	line("fudge", p.Limits.Fudge)
	line("obsolete", p.Limits.Obsolete)
	line("stealth_cycles", p.Limits.Stealth)
	line("quorum_percent", p.Quorum)
	line("cold_start", yesNo(p.ColdStart))
	line("strict", yesNo(p.Strict))
	line("seed", p.Seed)
	return statefiles.File{Name: "parameters", Body: b.Bytes()}
}

func participantsFile(p GossipParams) statefiles.File {
	var b bytes.Buffer
	for _, id := range p.NIDs {
		b.Write(append(id.AppendTo(b.AvailableBuffer()), '\n'))
	}
	return statefiles.File{Name: "participants", Body: b.Bytes()}
}

func agesFile(clock []byte, s *gossip.Snapshot) statefiles.File {
	var b bytes.Buffer
	for i := range s.Participants {
		p := &s.Participants[i]
		b.Write(fmt.Appendf(p.NID.AppendTo(b.AvailableBuffer()), " %d\n", p.Age))
	}
	return statefiles.File{Name: "ages", Head: clock, Body: b.Bytes()}
}

func healthFile(clock []byte, s *gossip.Snapshot) statefiles.File {
	var b bytes.Buffer
	for i := range s.Participants {
		p := &s.Participants[i]
		b.Write(fmt.Appendf(p.NID.AppendTo(b.AvailableBuffer()), " %v %d\n", p.Health, p.Aliveness))
	}
	return statefiles.File{Name: "health", Head: clock, Body: b.Bytes()}
}

func statisticsFile(clock []byte, s *gossip.Snapshot) statefiles.File {
	var b bytes.Buffer
	for _, c := range GossipCounters(s) {
		fmt.Fprintln(&b, c.Name, c.Value)
	}
	return statefiles.File{Name: "statistics", Head: clock, Body: b.Bytes()}
}

// Counter is a counter with its name.
type Counter struct {
	Name  string
	Value uint64
}

// GossipCounters returns the counters in the order in which they are shown.
func GossipCounters(s *gossip.Snapshot) []Counter {
	c := &s.Stats
	return []Counter{
		{"pings_sent", c.PingsSent},
		{"pings_received", c.PingsReceived},
		{"replies_sent", c.RepliesSent},
		{"replies_received", c.RepliesReceived},
		{"obsolete", c.Obsolete},
		{"bad_clock", c.BadClock},
		{"malformed", c.Malformed},
		{"disagreements", c.Disagreements},
		{"strangers", c.Strangers},
		{"quiet", c.Quiet},
		{"behind", c.Behind},
		{"missed", c.Missed},
		{"bad_stages", c.BadStages},
		{"not_sent", s.NotSent},
		{"stray_bits", s.StrayBits},
	}
}

func yesNo(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}
