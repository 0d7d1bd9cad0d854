package journal

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"ulnet/lnd/lndtest/spec"
)

// journald is a socket that takes lines as journald does.
type journald struct {
	t    *testing.T
	conn *net.UnixConn
}

func listen(t *testing.T, path string) *journald {
	t.Helper()
	c, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: path, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return &journald{t, c}
}

// next returns the fields of the next line.
func (j *journald) next() map[string]string {
	j.t.Helper()
	if err := j.conn.SetReadDeadline(time.Now().Add(time.Minute)); err != nil {
		j.t.Fatal(err)
	}
	b := make([]byte, 1<<20)
	n, err := j.conn.Read(b)
	if err != nil {
		j.t.Fatal(err)
	}
	fields, err := parse(b[:n])
	if err != nil {
		j.t.Fatal(err)
	}
	return fields
}

// parse reads a datagram as the protocol says.
func parse(b []byte) (map[string]string, error) {
	fields := map[string]string{}
	for len(b) > 0 {
		end := bytes.IndexByte(b, '\n')
		if end < 0 {
			return nil, errors.New("no newline at the end")
		}
		name, value, ok := strings.Cut(string(b[:end]), "=")
		b = b[end+1:]
		if !ok {
			if len(b) < 8 || binary.LittleEndian.Uint64(b) >= uint64(len(b)-8) {
				return nil, fmt.Errorf("%s: wrong length", name)
			}
			n := binary.LittleEndian.Uint64(b)
			value, b = string(b[8:8+n]), b[8+n:]
			if b[0] != '\n' {
				return nil, fmt.Errorf("%s: no newline behind the value", name)
			}
			b = b[1:]
		}
		fields[name] = value
	}
	return fields, nil
}

func newLog(path string, level slog.Level, fallback *bytes.Buffer) *slog.Logger {
	return slog.New(&handler{socket: newSocket(path), name: "lnetd", level: level, fallback: slog.NewTextHandler(fallback, nil)})
}

// TestLines: a line is an entry with its text, level, attributes and, if it has one, message id.
func TestLines(t *testing.T) {
	spec.Covers(t, "OP-21")
	path := filepath.Join(t.TempDir(), "socket")
	j := listen(t, path)
	var rest bytes.Buffer
	log := newLog(path, slog.LevelInfo, &rest)
	for _, test := range []struct {
		write func()
		want  map[string]string
	}{
		{
			func() { log.Info("ready", slog.String("nids", "a b"), slog.Int("accept_port", 988)) },
			map[string]string{
				"MESSAGE": `ready nids="a b" accept_port=988`, "PRIORITY": "6", "MESSAGE_ID": "e7df9917f97245639b135c8ba01b781c",
				"ULNET_NIDS": "a b", "ULNET_ACCEPT_PORT": "988",
			},
		},
		{
			func() {
				log.With("ni", "n").WithGroup("g").Error("odd\nline", slog.Any("err", errors.New("one\ntwo")), slog.Duration("ä", time.Second))
			},
			map[string]string{
				"MESSAGE": "odd\nline ni=n g.err=\"one\\ntwo\" g.ä=1s", "PRIORITY": "3",
				"ULNET_NI": "n", "ULNET_G_ERR": "one\ntwo", "ULNET_G___": "1s",
			},
		},
		{
			func() { log.Warn("[17, 3] participant died", slog.Any("nid", net.IPv4(10, 0, 0, 1))) },
			map[string]string{
				"MESSAGE": "[17, 3] participant died nid=10.0.0.1", "PRIORITY": "4", "MESSAGE_ID": "f78bc2e0af834a57b4b3894b5fa8e859",
				"ULNET_NID": "10.0.0.1",
			},
		},
		{
			func() { log.Info("client health", "event", "connected") },
			map[string]string{"MESSAGE": "client health event=connected", "PRIORITY": "6", "ULNET_EVENT": "connected"},
		},
		{
			func() { log.Info("client health", slog.Group("", slog.String("event", "evicted")), slog.Attr{}) },
			map[string]string{
				"MESSAGE": "client health event=evicted", "PRIORITY": "6", "MESSAGE_ID": "aed3be1a3ba64ebaaf7972c97dee237e",
				"ULNET_EVENT": "evicted",
			},
		},
	} {
		log.Debug("below the level")
		test.write()
		test.want["SYSLOG_IDENTIFIER"] = "lnetd"
		if got := j.next(); !maps.Equal(got, test.want) {
			t.Errorf("%q\nwant %q", got, test.want)
		}
	}
	if rest.Len() > 0 {
		t.Errorf("not sent: %s", &rest)
	}
}

// TestHugeLine: however large a line is, its datagram fits into the buffer of a socket, and a text
// that was cut off is still UTF-8.
func TestHugeLine(t *testing.T) {
	spec.Covers(t, "OP-21")
	path := filepath.Join(t.TempDir(), "socket")
	j := listen(t, path)
	var rest bytes.Buffer
	var attrs []any
	for i := range 200 {
		attrs = append(attrs, slog.String(fmt.Sprintf("%0100d", i), strings.Repeat("ö\n", 100_000)))
	}
	newLog(path, slog.LevelInfo, &rest).Info(strings.Repeat("ü", 100_000), attrs...)
	fields := j.next()
	sum := 0
	for name, value := range fields {
		sum += len(name) + len(value)
		if len(name) > maxName || strings.ToValidUTF8(value, "") != value {
			t.Errorf("%s: %q", name, value)
		}
	}
	if sum > 100<<10 || rest.Len() > 0 || !strings.HasSuffix(fields["MESSAGE"], cutMark) {
		t.Errorf("%d bytes; %d not sent", sum, rest.Len())
	}
}

// TestWithoutJournald: lines that journald does not take go to the other handler. Once a journald
// is there again, it gets the later lines.
func TestWithoutJournald(t *testing.T) {
	spec.Covers(t, "OP-21")
	path := filepath.Join(t.TempDir(), "socket")
	var rest bytes.Buffer
	log := newLog(path, slog.LevelInfo, &rest).With("a", 1)
	log.Info("first")
	if !strings.Contains(rest.String(), "msg=first a=1") {
		t.Errorf("%q", &rest)
	}
	j := listen(t, path)
	log.Info("second")
	if got := j.next()["MESSAGE"]; got != "second a=1" {
		t.Errorf("%q", got)
	}
	if err := errors.Join(j.conn.Close(), os.Remove(path)); err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	j = listen(t, path)
	log.Info("third")
	if got := j.next()["MESSAGE"]; got != "third a=1" {
		t.Errorf("%q", got)
	}
}

// TestStreams: journald gets lines only if standard error is the stream in $JOURNAL_STREAM.
func TestStreams(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	defer w.Close()
	info, err := w.Stat()
	if err != nil {
		t.Fatal(err)
	}
	s := info.Sys().(*syscall.Stat_t)
	own := fmt.Sprintf("%d:%d", s.Dev, s.Ino)
	var out bytes.Buffer
	text := slog.NewTextHandler(&out, nil)
	for stream, want := range map[string]bool{own: true, "": false, own + "0": false, "1": false} {
		h := Handler(func(name string) string { return map[string]string{"JOURNAL_STREAM": stream}[name] }, w, "lnetd", slog.LevelInfo, text)
		if _, ok := h.(*handler); ok != want {
			t.Errorf("%q: %T", stream, h)
		}
	}
	if h := Handler(func(string) string { return own }, &out, "lnetd", slog.LevelInfo, text); h != slog.Handler(text) {
		t.Errorf("no file: %T", h)
	}
}

// broken is a value whose method for its text panics if the pointer is nil.
type broken struct{ text string }

func (b *broken) MarshalText() ([]byte, error) { return []byte(b.text), nil }

// unmade is a value whose method for its text always panics.
type unmade struct{}

func (unmade) MarshalText() ([]byte, error) { panic("no text") }

// TestPanickingValue: a value whose method panics is written as slog.TextHandler writes it.
func TestPanickingValue(t *testing.T) {
	for _, v := range []any{(*broken)(nil), unmade{}, &broken{"whole"}} {
		var out bytes.Buffer
		slog.New(slog.NewTextHandler(&out, nil)).Info("m", slog.Any("v", v))
		got := "v=" + quoted(textOf(slog.AnyValue(v)))
		if !strings.HasSuffix(out.String(), " "+got+"\n") {
			t.Errorf("%s, slog writes %s", got, &out)
		}
	}
}
