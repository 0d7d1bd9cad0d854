package fault

import (
	"strings"
	"testing"

	"ulnet/lnd"
	"ulnet/lnet/nid"
	"ulnet/lnet/wire"
)

func TestParseRule(t *testing.T) {
	for text, prints := range map[string]string{
		"loss 5%":                         "",
		"all":                             "unknown word",
		"from all to all type all loss 1": "loss 100%",
		"cut":                             "",
		"from 10.0.0.[1-5]@tcp 10.0.1.1@tcp to *@tcp1 type PUT,ACK portal 4,7 loss 5% latency 10ms±2ms": "from 10.0.0.[1-5]@tcp 10.0.1.1@tcp to *@tcp1 type PUT,ACK portal 4,7 latency 10ms±2ms loss 5%",
		"duplicate 1% from 10.0.0.1@tcp reorder 2% hold 5ms type reply":                                 "from 10.0.0.1@tcp type REPLY duplicate 1% reorder 2% hold 5ms",
		"portal 0 cut":                 "",
		"":                             "the rule does nothing: want cut, latency, loss",
		"from all":                     "the rule does nothing",
		"from loss 5%":                 "from: no NIDs",
		"to 10.0.0.1 loss 5%":          "to: NIDs \"10.0.0.1\": want ADDRESS@NET",
		"from all from all loss 5%":    "from is given twice",
		"loss 5% loss 6%":              "loss is given twice",
		"loss 500%":                    "no probability",
		"loss":                         "loss needs a value",
		"type PING loss 5%":            "\"PING\" is no type of message",
		"type":                         "is no type of message",
		"portal 64 cut":                "\"64\" is no portal: want a number from 0 to 63",
		"portal x cut":                 "is no portal",
		"cut loss 5%":                  "cut and loss",
		"rate 10Mbit":                  "rate: real links have theirs",
		"lose 5%":                      "unknown word \"lose\": want from, to, type, portal to choose messages, and cut, latency, loss, duplicate, reorder, hold",
		strings.Repeat("x", maxRule+1): "rule of more than",
	} {
		r, err := ParseRule(text)
		if err != nil {
			if prints == "" || !strings.Contains(err.Error(), prints) {
				t.Errorf("%q: %v, want %q", text, err, prints)
			}
			continue
		}
		if prints == "" {
			prints = text
		}
		if r.String() != prints {
			t.Errorf("%q prints as %q, want %q", text, r.String(), prints)
		}
	}
}

func TestMatch(t *testing.T) {
	message := func(kind wire.MsgType, portal uint32, from, to nid.NID) *lnd.Message {
		m := put(from, to, 1, "")
		switch kind {
		case wire.Put:
			m.Header.SetPut(wire.PutCmd{Portal: portal})
		case wire.Get:
			m.Header.SetGet(wire.GetCmd{Portal: portal})
		case wire.Ack:
			m.Header.SetAck(wire.AckCmd{})
		case wire.Reply:
			m.Header.SetReply(wire.ReplyCmd{})
		}
		return m
	}
	for _, test := range []struct {
		rule   string
		kind   wire.MsgType
		portal uint32
		from   nid.NID
		want   bool
	}{
		{"cut", wire.Reply, 0, there, true},
		{"from 10.0.0.2@tcp cut", wire.Put, 4, there, true},
		{"from 10.0.0.2@tcp cut", wire.Put, 4, third, false},
		{"to 10.0.0.2@tcp cut", wire.Put, 4, there, false},
		{"to 10.0.0.1@tcp cut", wire.Put, 4, there, true},
		{"type PUT cut", wire.Put, 4, there, true},
		{"type ACK,GET cut", wire.Put, 4, there, false},
		{"type ACK,GET cut", wire.Ack, 0, there, true},
		{"type ACK,GET cut", wire.Get, 0, there, true},
		{"type REPLY cut", wire.Ack, 0, there, false},
		{"portal 4,63 cut", wire.Put, 4, there, true},
		{"portal 4,63 cut", wire.Get, 63, there, true},
		{"portal 4,63 cut", wire.Put, 5, there, false},
		{"portal 4,63 cut", wire.Put, 68, there, false},
		{"portal 4,63 cut", wire.Ack, 0, there, false},
		{"type GET portal 4 cut", wire.Put, 4, there, false},
	} {
		r, err := ParseRule(test.rule)
		if err != nil {
			t.Fatal(err)
		}
		if got := r.matches(&message(test.kind, test.portal, test.from, here).Header, here); got != test.want {
			t.Errorf("%s, %v to portal %d from %v: %v, want %v", test.rule, test.kind, test.portal, test.from, got, test.want)
		}
	}
}

func TestPartition(t *testing.T) {
	for _, test := range []struct {
		text, prints string
		apart        string // pairs of NIDs that the partition must separate
		together     string
	}{
		{
			text: "10.0.0.[1-2]@tcp | 10.0.0.3@tcp", prints: "10.0.0.[1-2]@tcp | 10.0.0.3@tcp",
			apart:    "10.0.0.1@tcp,10.0.0.3@tcp 10.0.0.3@tcp,10.0.0.2@tcp 10.0.0.4@tcp,10.0.0.1@tcp 10.0.0.4@tcp,10.0.0.3@tcp",
			together: "10.0.0.1@tcp,10.0.0.2@tcp 10.0.0.4@tcp,10.0.0.5@tcp 10.0.0.3@tcp,10.0.0.3@tcp",
		},
		{text: "*@tcp1", prints: "*@tcp1", apart: "10.0.0.1@tcp1,10.0.0.1@tcp", together: "10.0.0.1@tcp,10.0.0.2@tcp"},
		{text: "*@tcp|10.0.0.1@tcp", prints: "*@tcp | 10.0.0.1@tcp", together: "10.0.0.1@tcp,10.0.0.2@tcp"},
	} {
		p, err := ParsePartition(test.text)
		if err != nil {
			t.Fatal(err)
		}
		if p.String() != test.prints {
			t.Errorf("%s prints as %s", test.text, p)
		}
		check := func(pairs string, want bool) {
			for pair := range strings.FieldsSeq(pairs) {
				a, b, _ := strings.Cut(pair, ",")
				if got := p.separates(nid.MustParse(a), nid.MustParse(b)); got != want {
					t.Errorf("%s separates %s: %v", test.text, pair, got)
				}
			}
		}
		check(test.apart, true)
		check(test.together, false)
	}
	for text, why := range map[string]string{
		"": "part without NIDs", "10.0.0.1@tcp |": "part without NIDs", "all | 10.0.0.1@tcp": "is no part", "x | y": "want ADDRESS@NET",
		strings.Repeat(" ", maxRule+1): "more than",
	} {
		if _, err := ParsePartition(text); err == nil || !strings.Contains(err.Error(), why) {
			t.Errorf("%q: %v, want %q", text, err, why)
		}
	}
}

// FuzzRule: a rule that can be parsed is printed as text with the same meaning.
func FuzzRule(f *testing.F) {
	for _, s := range []string{
		"from 10.0.0.[1-5]@tcp to all type PUT,ACK portal 4 loss 5% latency 10ms±2ms", "cut", "reorder 1% hold 5ms+exp(1ms)",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		r, err := ParseRule(s)
		if err != nil {
			return
		}
		again, err := ParseRule(r.String())
		if err != nil || again.String() != r.String() {
			t.Errorf("%q prints as %q, which reads as %q, %v", s, r.String(), again.String(), err)
		}
	})
}
