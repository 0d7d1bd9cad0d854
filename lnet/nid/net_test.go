package nid

import (
	"errors"
	"strings"
	"testing"
)

func TestNetValue(t *testing.T) {
	tests := []struct {
		name  string
		net   Net
		value uint32
		typ   NetType
		num   uint16
		text  string
	}{
		{"tcp", MakeNet(TCP, 0), 0x00020000, TCP, 0, "tcp"},
		{"o2ib65535", MakeNet(O2IB, 65535), 0x0005FFFF, O2IB, 65535, "o2ib65535"},
		{"lo", MakeNet(Lo, 0), 0x00090000, Lo, 0, "lo"},
		{"any", anyNet(), 0xFFFFFFFF, 0xFF, 0xFFFF, "<255:65535>"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if tt.net.Value() != tt.value || netFromValue(tt.value) != tt.net {
				t.Errorf("Value = %#x, want %#x and back", tt.net.Value(), tt.value)
			}
			if tt.net.Type() != tt.typ || tt.net.Num() != tt.num || tt.net.String() != tt.text {
				t.Errorf("got %v %d %q", tt.net.Type(), tt.net.Num(), tt.net)
			}
			if !tt.net.IsValid() {
				t.Error("not valid")
			}
		})
	}
}

func TestNetSpecials(t *testing.T) {
	if (Net{}).IsValid() {
		t.Error("the zero Net is valid")
	}
	if got := netFromValue(0xAB020003); got != MakeNet(TCP, 3) {
		t.Errorf("top byte is not ignored: %v", got)
	}
	if got := netFromValue(0x00FF0001); !got.IsAny() {
		t.Errorf("type 0xFF gives %v, want the wildcard", got)
	}
	if MakeNet(TCP, 1).IsAny() || !anyNet().IsAny() {
		t.Error("IsAny is wrong")
	}
}

func TestNetCompare(t *testing.T) {
	ordered := []Net{{}, MakeNet(TCP, 0), MakeNet(TCP, 1), MakeNet(O2IB, 0), anyNet()}
	for i, a := range ordered {
		for j, b := range ordered {
			if got, want := a.Compare(b), sign(i-j); got != want {
				t.Errorf("%v.Compare(%v) = %d, want %d", a, b, got, want)
			}
		}
	}
}

func TestParseNetErrors(t *testing.T) {
	tests := []struct {
		text string
		want error
	}{
		{"", errNet},
		{"foo", errNet},
		{"TCP", errNet},
		{" tcp", errNet},
		{"tc", errNet},
		{"3", errNet},
		{"tcpx", errNet},
		{"tcp3x", errNet},
		{"tcp x", errNet},
		{"tcp-1", errNet},
		{"tcp+1", errNet},
		{"tcp 1", errNet},
		{"tcp1 ", errNet},
		{"tcp1_0", errNet},
		{"tcp0x1", errNet},
		{"tcp٣", errNet}, // the last character is a digit, but not an ASCII one
		{"lo0", errNet},
		{"lo1", errNet},
		{"<17:0", errNet},
		{"tcp65536", errNetNumber},
		{"tcp70000", errNetNumber},
		{"tcp99999999999999999999", errNetNumber},
	}
	for _, tt := range tests {
		if n, err := ParseNet(tt.text); !errors.Is(err, tt.want) || n != (Net{}) {
			t.Errorf("ParseNet(%q) = %v, %v, want %v", tt.text, n, err, tt.want)
		}
	}
}

func TestParseNetLeadingZeros(t *testing.T) {
	if n, err := ParseNet("tcp007"); err != nil || n != MakeNet(TCP, 7) {
		t.Errorf("ParseNet = %v, %v", n, err)
	}
}

func FuzzParseNet(f *testing.F) {
	for _, s := range []string{"tcp", "o2ib3", "lo", "ptl4", "ptlf4", "tcp70000", "<17:0>", "<0:0>", ""} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		n, err := ParseNet(s)
		if err != nil {
			if n != (Net{}) {
				t.Fatalf("ParseNet(%q) = %v, %v", s, n, err)
			}
			return
		}
		// "a network of type 0 can be parsed, too, but is not valid" (ParseNet)
		if !n.IsValid() && !strings.HasPrefix(s, "<0") {
			t.Fatalf("ParseNet(%q) = %v, which is not valid", s, n)
		}
		if back, err := ParseNet(n.String()); err != nil || back != n {
			t.Fatalf("%q prints as %q, which parses to %v, %v", s, n, back, err)
		}
	})
}

func sign(d int) int { return max(-1, min(1, d)) }
