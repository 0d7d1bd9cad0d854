package engine

import (
	"bytes"
	"encoding/hex"
	"os"
	"strings"
	"testing"

	"ulnet/gossip/wire"
)

// FuzzStep: the machine survives any message, keeps its invariants and bounds the messages that
// it sends. The corpus begins with messages of a cluster of twelve.
func FuzzStep(f *testing.F) {
	const n = 12
	h := newHarness(f, n, 0, nil)
	h.cycles(1)
	f.Add(true, bytes.Clone(h.sends[0].Data(&h.out)))
	f.Add(false, bytes.Clone(h.sends[0].Data(&h.out)))
	text, err := os.ReadFile("../wire/testdata/messages.txt")
	if err != nil {
		f.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		kind, digits, _ := strings.Cut(strings.TrimSpace(line), " ")
		data, err := hex.DecodeString(digits)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(kind == "ping", data)
	}
	all := wire.Header{Flags: wire.FlagParams | wire.FlagStaged, N: n}
	f.Add(true, all.AppendTo(nil))
	most := len(all.AppendTo(nil)) + n*wire.PairSize
	f.Fuzz(func(t *testing.T, ping bool, data []byte) {
		h := newHarness(t, n, 0, nil)
		h.cycles(2)
		in := Input{Kind: Reply, From: h.list.NID(4), Data: data}
		if ping {
			in.Kind = Ping
		}
		h.step(in)
		if len(h.sends) > 1 || len(h.out.Buf) > most {
			t.Errorf("answered with %d messages, %d bytes", len(h.sends), len(h.out.Buf))
		}
	})
}
