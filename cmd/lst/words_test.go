package main

import (
	"errors"
	"strings"
	"testing"

	"ulnet/lnd/lndtest/spec"
	"ulnet/lnet/selftest/console"
	"ulnet/lnet/selftest/wire"
)

// TestBRWParams: the words of a test have the meaning that they have for Lustre's tool.
func TestBRWParams(t *testing.T) {
	spec.Covers(t, "ST-42")
	for words, want := range map[string]wire.BRWParams{
		"":                               {Op: wire.Read, Check: wire.CheckNone, Length: 4096},
		"write":                          {Op: wire.Write, Check: wire.CheckNone, Length: 4096},
		"W c=SIMPLE s=0x10k":             {Op: wire.Write, Check: wire.CheckSimple, Length: 16 << 10},
		"r check=full size=1M":           {Op: wire.Read, Check: wire.CheckFull, Length: 1 << 20},
		"Read Size=010K":                 {Op: wire.Read, Check: wire.CheckNone, Length: 8 << 10},
		"write read size=4k size=8":      {Op: wire.Read, Check: wire.CheckNone, Length: 8},
		"size=12280 off=8":               {Op: wire.Read, Check: wire.CheckNone, Length: 12280, Offset: 8},
		"off=4104 size=4088 check=full ": {Op: wire.Read, Check: wire.CheckFull, Length: 4088, Offset: 4104},
	} {
		if got, err := brwParams(strings.Fields(words)); got != want || err != nil {
			t.Errorf("%q: %+v, %v, want %+v", words, got, err, want)
		}
	}
}

// TestBRWParamsRefused: invalid parameters are refused with the texts of Lustre's tool, and so are
// parameters by which kernel nodes crash.
func TestBRWParamsRefused(t *testing.T) {
	spec.Covers(t, "ST-42")
	for word, want := range map[string]string{
		"sideways":                   "Unknow parameter: sideways",
		"read=1":                     "Unknow parameter: read=1",
		"size":                       "Unknow parameter: size",
		"off":                        "Unknow parameter: off",
		"check=nosuch":               "Unknow flag nosuch",
		"size=0":                     "Invalid size 0",
		"size=":                      "Invalid size ",
		"size=-8":                    "Invalid size -8",
		"size=4X":                    "Invalid size 4X",
		"size=4kk":                   "Invalid size 4kk",
		"size=1_0":                   "Invalid size 1_0",
		"size=2M":                    "Size exceed limitation: 2097152 bytes",
		"size=1048584":               "Size exceed limitation: 1048584 bytes",
		"size=99999999999999999999M": "Size exceed limitation: 2251799812636672 bytes",
		"size=5":                     "Invalid size 5: kernel nodes crash unless it is a multiple of 8",
		"off=4":                      "Invalid offset 4",
		"off=-8":                     "Invalid offset -8",
		"off=8k":                     "Invalid offset 8k",
		"off=8":                      "Invalid offset 8: kernel nodes crash if data of this size need another page because of it",
	} {
		_, err := brwParams([]string{word})
		if f, ok := errors.AsType[*failure](err); !ok || f.text != want || f.code != localFail {
			t.Errorf("%s: %+v, want %q", word, err, want)
		}
	}
}

// FuzzBRWParams: whatever the words are, parameters that are accepted crash no kernel node.
func FuzzBRWParams(f *testing.F) {
	for _, seed := range []string{"read size=1M", "w s=0x7fffffffm c=full", "off=0777 size=8", "size=-+1", "size=9999999999999999999k", "off=18446744073709551616"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		p, err := brwParams(strings.Fields(text))
		if err != nil {
			if f, ok := errors.AsType[*failure](err); !ok || f.text == "" {
				t.Errorf("%q: %v", text, err)
			}
			return
		}
		pages := func(n uint64) uint64 { return (n + 4095) / 4096 }
		if p.Length == 0 || p.Length > 1<<20 || p.Length%8 != 0 || p.Offset%8 != 0 ||
			pages(uint64(p.Offset%4096)+uint64(p.Length)) > pages(uint64(p.Length)) || p.Op != wire.Read && p.Op != wire.Write ||
			p.Check < wire.CheckNone || p.Check > wire.CheckFull {
			t.Errorf("%q: %+v", text, p)
		}
	})
}

// TestNumbersOf: the options of a test whose values are numbers are parsed, and mistakes are
// refused.
func TestNumbersOf(t *testing.T) {
	var got console.Test
	if err := numbersOf(&got, "-7", "1024", "2:3"); err != nil || got != (console.Test{Loop: -1, Concurrency: 1024, Distribute: 2, Span: 3}) {
		t.Errorf("%+v, %v", got, err)
	}
	for _, c := range []struct{ loop, concurrency, distribute, want string }{
		{"0", "1", "1:1", "Invalid loop of test: 0"},
		{"x", "1", "1:1", "Invalid loop of test: x"},
		{"2147483648", "1", "1:1", "Invalid loop of test: 2147483648"},
		{"1", "0", "1:1", "Invalid concurrency of test: 0"},
		{"1", "5000", "1:1", "Invalid concurrency of test: 5000"},
		{"1", "1", "1", "Invalid distribution: 1"},
		{"1", "1", "0:1", "Invalid distribution: 0:1"},
		{"1", "1", "1:-1", "Invalid distribution: 1:-1"},
	} {
		if err := numbersOf(new(console.Test), c.loop, c.concurrency, c.distribute); err == nil || err.Error() != c.want {
			t.Errorf("%+v: %v", c, err)
		}
	}
}

// TestServiceOf: there are two tests, ping and brw, and only brw has parameters.
func TestServiceOf(t *testing.T) {
	for line, want := range map[string]string{
		"PING": "ok", "brw write": "ok", "ping x": "Unknow parameter: x", "nosuch": "Unknow test name nosuch", "brw x": "Unknow parameter: x",
	} {
		words, got := strings.Fields(line), "ok"
		if err := serviceOf(new(console.Test), words[0], words[1:]); err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("%s: %s, want %s", line, got, want)
		}
	}
}
