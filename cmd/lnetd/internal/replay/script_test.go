package replay_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"ulnet/cmd/lnetd/internal/replay"
)

func captureFile(name string) string {
	return filepath.Join("..", "..", "..", "..", "lnd", "capture", "testdata", name+".pcap")
}

// captureDirs are the folders with captures.
var captureDirs = []string{
	filepath.Join("..", "..", "..", "..", "lnd", "capture", "testdata"),
	filepath.Join("..", "..", "..", "..", "lnd", "capture", "testdata", "captures2"),
	filepath.Join("..", "..", "..", "..", "lnet", "selftest", "console", "engine", "testdata"),
}

// find returns the path of a recording, or fails the test if the recording is missing.
func find(t *testing.T, name string) string {
	t.Helper()
	for _, dir := range captureDirs {
		for _, ext := range []string{".pcap", ".pcap.gz"} {
			file := filepath.Join(dir, name+ext)
			if _, err := os.Stat(file); err == nil {
				return file
			}
		}
	}
	t.Fatalf("there is no %s.pcap", name)
	return ""
}

func load(t *testing.T, name string) *replay.Script {
	t.Helper()
	s, err := replay.Load(find(t, name))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// brief summarizes the events of one connection: each side's bytes, and which side closed it.
func brief(s *replay.Script, conn int) string {
	var b strings.Builder
	for _, e := range s.Events {
		if e.Conn != conn {
			continue
		}
		who := strings.ToUpper(e.From.String()[:1])
		switch {
		case e.Kind == replay.Data:
			fmt.Fprintf(&b, " %s%d", who, len(e.Data))
		case e.Reset:
			fmt.Fprintf(&b, " %s-rst", who)
		case e.Kind == replay.Closed:
			fmt.Fprintf(&b, " %s-fin", who)
		}
	}
	return strings.TrimSpace(b.String())
}

func TestLoad(t *testing.T) {
	for _, test := range []struct {
		name string
		want []string // the events expected, by connection
	}{
		{"tcp-ping", []string{"I16 I56 A56 I96 A144 A96 I144", "I16 I56 A56", "I16 I56 A56"}},
		{"tcp-discover-off", []string{"I16 I56 A56 I96 A144", "I16 I56 A56", "I16 I56 A56"}},
		{"tcp-err-wrongnet", []string{"I16 I56 A-rst"}},
		{"tcp-err-refused", []string{""}},
		{"tcp-err-handshake", []string{
			"I16 A-rst", "I16 A-rst", "I16 A16 A-rst", "I16 A-fin I-fin", "I72 A56 A-rst", "I72 A-rst",
			"I72 A56 I-fin A-fin", "I72 A-fin I-fin", "I72 A-fin I-fin", "I72 A56 I-fin A-fin",
			"I72 A-fin I-fin", "I10 A-fin I-fin", "I72 A56 I-fin A-fin",
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := load(t, test.name)
			var got []string
			for i, c := range s.Conns {
				got = append(got, brief(s, i))
				if want := test.name == "tcp-err-refused"; c.Refused != want {
					t.Errorf("connection %d refused: %v, want %v", i, c.Refused, want)
				}
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestLoadRefusesGaps(t *testing.T) {
	whole, err := os.ReadFile(captureFile("tcp-err-wrongnet"))
	if err != nil {
		t.Fatal(err)
	}
	const fileHeader, recordHeader = 24, 16
	skip := func(b []byte) []byte { // returns the bytes after the first record of the capture file
		return b[recordHeader+int(b[8])+int(b[9])<<8:]
	}
	records := whole[fileHeader:]
	request := skip(skip(skip(records))) // the acceptor request is the first packet after the TCP handshake
	for _, test := range []struct {
		name, want string
		b          []byte
	}{
		{"no SYN", "frame 1", append(whole[:fileHeader:fileHeader], skip(records)...)},
		{"lost segment", "are missing", append(whole[:len(whole)-len(request):len(whole)-len(request)], skip(request)...)},
		{"cut file", "frame 8", whole[:len(whole)-1]},
		{"no capture", "", []byte("hello")},
	} {
		t.Run(test.name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "pcap")
			if err := os.WriteFile(file, test.b, 0o600); err != nil {
				t.Fatal(err)
			}
			if _, err := replay.Load(file); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("error %v, want one with %q", err, test.want)
			}
		})
	}
	if _, err := replay.Load(filepath.Join(t.TempDir(), "none")); err == nil {
		t.Error("a file that does not exist was loaded")
	}
}
