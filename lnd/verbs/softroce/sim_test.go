package softroce

import (
	"bytes"
	"slices"
	"testing"
	"time"

	"ulnet/lnd/link"
	"ulnet/lnd/sim"
	"ulnet/lnd/verbs"
	"ulnet/lnd/verbs/ibta"
)

// simulated is an end of a connection as a program of the simulator.
type simulated struct {
	rc     *rc
	memory *regions
	pool   *buffers
	out    rcOutput
	bulk   []byte
	peer   sim.NodeID
	done   int
	got    [][]byte
}

func newSimulated(id sim.NodeID, bulk []byte) *simulated {
	s := &simulated{
		memory: &regions{key: 7, base: 1 << 40, bytes: make([]byte, 1<<20)}, pool: &buffers{size: 4096, free: 4}, bulk: bulk, peer: 1 - id,
	}
	s.rc = newRC(rcConfig{
		QPN: ibta.QPN(id + 2), DestQP: ibta.QPN(3 - id), MTU: testMTU, SendPSN: 100 * ibta.PSN(id), RecvPSN: 100 * ibta.PSN(1-id),
		MaxSends: 16, MaxWindow: 128, MaxMessage: 4096, AckTimeout: time.Second, RetryCount: 5, Memory: s.memory, Pool: s.pool,
	})
	return s
}

// Step steps the connection (sim.Program). A command makes it write a block, and send a
// message about that.
func (s *simulated) Step(now time.Duration, in sim.Input[ibta.Packet], out *sim.Output[ibta.Packet]) time.Duration {
	var x rcInput
	switch in.Kind {
	case sim.Message:
		x.Packets = []ibta.Packet{in.Msg}
	case sim.Command:
		x.Post = []verbs.SendWR{
			{Op: verbs.Write, RKey: 7, Remote: verbs.Frag{Address: 1 << 40, Length: uint32(len(s.bulk))}, Pieces: []verbs.SGE{{Bytes: s.bulk}}},
			send(1, []byte(in.Text)),
		}
	}
	s.out.Reset()
	wake := s.rc.Step(now, x, &s.out)
	for _, c := range s.out.Completions {
		if c.Op == verbs.Receive {
			s.got = append(s.got, bytes.Clone(c.Buffer.Bytes))
			s.pool.Return(c.Buffer)
		} else if c.Status == verbs.Success {
			s.done++
		}
	}
	for i := range s.out.Packets {
		p := &s.out.Packets[i]
		m := p.Packet
		m.Payload = slices.Concat(s.out.Payload(p)...)
		const headers = 20 + 8 + ibta.ICRCSize
		out.Sends = append(out.Sends, sim.Send[ibta.Packet]{To: s.peer, Msg: m, Size: headers + m.OpCode.HeaderSize() + len(m.Payload)})
	}
	return wake
}

// TestSimulated runs a connection in the simulator: over a bad link of 100 Mbit/s, through an
// interruption of two seconds. It makes two runs, which must have the same result.
func TestSimulated(t *testing.T) {
	bulk := bytes.Repeat([]byte("0123456789abcdef"), 1<<16-1)
	run := func() (digest uint64, at time.Duration) {
		n, err := sim.New(sim.Config[ibta.Packet]{
			Nodes: 2, Seed: 5, AccessRate: 100e6,
			Topology: &sim.Flat{Link: link.Quality{
				Latency: link.Dist{Base: time.Millisecond}, Loss: 0.005, Duplicate: 0.01, Reorder: 0.01, Hold: link.Dist{Base: time.Millisecond},
			}},
			Boot: func(l sim.Incarnation, _ sim.Program[ibta.Packet]) sim.Program[ibta.Packet] {
				return newSimulated(l.Node, bulk)
			},
		})
		if err != nil {
			t.Fatal(err)
		}
		n.At(time.Millisecond, func() { n.Command(0, "written"); n.Command(1, "written too") })
		n.At(30*time.Millisecond, func() { n.Partition(sim.Nodes(0)) })
		n.At(2030*time.Millisecond, func() { n.Heal() })
		ends := [2]*simulated{}
		for ends[0] == nil || ends[0].done+ends[1].done < 2 {
			if at += 10 * time.Millisecond; at > time.Minute {
				t.Fatal("not done")
			}
			if err := n.Run(at); err != nil {
				t.Fatal(err)
			}
			for i := range ends {
				ends[i] = n.Program(sim.NodeID(i)).(*simulated)
				if err := ends[i].rc.invariants(); err != nil {
					t.Fatal(err)
				}
			}
		}
		for i, s := range ends {
			if want := []string{"written too", "written"}[i]; len(s.got) != 1 || string(s.got[0]) != want || !bytes.Equal(s.memory.bytes[:len(bulk)], bulk) {
				t.Errorf("end %d: %q", i, s.got)
			}
			if c := s.rc.counters; c.Timeouts == 0 || c.Naks == 0 {
				t.Errorf("end %d: %+v", i, c)
			}
		}
		return n.Digest(), at
	}
	digest, at := run()
	if again, _ := run(); again != digest {
		t.Error("two runs differ")
	}
	if at > 5*time.Second { // the interruption lasts 2 s; the bytes take 0.1 s on the link
		t.Errorf("took %v", at)
	}
	t.Logf("took %v", at)
}
