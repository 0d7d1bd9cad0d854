package config

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"

	"ulnet/cmd/internal/config/tree"
)

// maxFileSize bounds a configuration file in bytes.
const maxFileSize = 1 << 16

// Error says what is wrong with a configuration file, and where.
type Error struct {
	File         string // path of the file
	Line, Column int    // position, counted from 1; 0: the error is about the whole file, or the whole line
	Err          error  // what is wrong
}

func (e *Error) Error() string {
	switch {
	case e.Line == 0:
		return fmt.Sprintf("%s: %v", e.File, e.Err)
	case e.Column == 0:
		return fmt.Sprintf("%s:%d: %v", e.File, e.Line, e.Err)
	}
	return fmt.Sprintf("%s:%d:%d: %v", e.File, e.Line, e.Column, e.Err)
}

// Unwrap returns what is wrong, without the position.
func (e *Error) Unwrap() error { return e.Err }

// readFile returns the text of a configuration file. Of a text that is too long it returns only the
// beginning, which is still too long for Parse, so that Parse refuses it.
func readFile(path string) ([]byte, error) { return readUpTo(path, maxFileSize) }

// readUpTo returns the first most+1 bytes of a file.
func readUpTo(path string, most int64) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, most+1))
}

// readWhole reads the text of a file, or its first most+1 bytes, while another program may be writing it.
// It refuses a file that is empty, ends in the middle of a line, or changes meanwhile, because a
// half-written configuration is in most cases a valid configuration, too. If another file is renamed over
// this one meanwhile, it returns the old file, which is complete.
func readWhole(path string, most int64) ([]byte, error) {
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() { // opening a FIFO would wait for a writer
		return nil, &Error{File: path, Err: errors.New("no regular file, so it cannot be read again")}
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	before, err := f.Stat()
	if err != nil {
		return nil, err
	}
	text, err := io.ReadAll(io.LimitReader(f, most+1))
	if err != nil {
		return nil, err
	}
	after, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if int64(len(text)) > most { // the parser will refuse the text for its size
		return text, nil
	}
	return text, checkWhole(path, before, after, text)
}

// checkWhole refuses a file as readWhole does. The arguments before and after are the file's state
// before and after it was read.
func checkWhole(path string, before, after os.FileInfo, text []byte) error {
	switch lines := bytes.Count(text, []byte("\n")); {
	case before.Size() != after.Size(), !before.ModTime().Equal(after.ModTime()):
		return &Error{File: path, Err: errors.New("the file changes while it is read")}
	case len(text) == 0:
		return &Error{File: path, Line: 1, Err: errors.New("the file is empty, as one that is being written; a comment is enough if no key is meant")}
	case text[len(text)-1] != '\n':
		return &Error{File: path, Line: lines + 1, Err: errors.New("the line has no end, as in a file that is being written; end it with a newline")}
	}
	return nil
}

// Parse reads the text of a configuration file. Keys that it does not have keep their defaults. Errors contain name
// as the name of the file.
func Parse(name string, text []byte) (Config, error) {
	c := Default()
	_, err := c.parse(name, text)
	return c, err
}

// parse changes c as the text of a file says. It returns the settings in the text, and where
// each stands.
func (c *Config) parse(name string, text []byte) (sources []Source, err error) {
	if len(text) > maxFileSize {
		return nil, &Error{File: name, Err: fmt.Errorf("more than %d bytes", maxFileSize)}
	}
	file, err := parser.ParseBytes(tree.WithLineFeeds(text), 0)
	if err != nil {
		return nil, syntaxError(name, err)
	}
	seen := 0
	for _, doc := range file.Docs {
		entries, err := mapping(name, doc.Body)
		if err != nil {
			return nil, err
		}
		if entries != nil {
			seen++
		}
		if seen > 1 {
			return nil, errorAt(name, doc.Body.GetToken(), errors.New("a second document: everything belongs into one"))
		}
		if err := c.enter(name, entries); err != nil {
			return nil, err
		}
		sources = append(sources, sourcesOf(name, "", entries)...)
	}
	return sources, c.check(name)
}

// enter changes c as the entries of a file say.
func (c *Config) enter(name string, entries []*ast.MappingValueNode) error {
	c.forgetNetworks(entries)
	if err := assign(c.settings(name), name, entries); err != nil {
		return err
	}
	return c.checkTwice(name, entries)
}

// forgetNetworks discards networks that earlier files have set, if this file has networks,
// ip2nets or the section net.
func (c *Config) forgetNetworks(entries []*ast.MappingValueNode) {
	for _, e := range entries {
		switch e.Key.GetToken().Value {
		case "networks", "ip2nets":
			c.Networks, c.IP2Nets, c.Sections.Net = Default().Networks, "", nil
		case "net":
			if isEmpty(e.Value) {
				continue
			}
			c.Networks, c.IP2Nets, c.Sections.Net = "lo", "", nil
		}
	}
}

// assign calls the setting of each entry of the file. Its error joins those of all entries.
func assign(settings map[string]setting, name string, entries []*ast.MappingValueNode) error {
	var errs []error
	for _, e := range entries {
		errs = append(errs, assignOne(settings, name, e))
	}
	return errors.Join(errs...)
}

func assignOne(settings map[string]setting, name string, e *ast.MappingValueNode) error {
	key := e.Key.GetToken()
	s, ok := settings[key.Value]
	if !ok {
		return errorAt(name, key, fmt.Errorf("unknown key %q", key.Value))
	}
	if _, none := e.Value.(*ast.NullNode); none {
		return errorAt(name, key, fmt.Errorf("%s has no value; without the line it has its default", key.Value))
	}
	err := s.put(e.Value)
	if err == nil {
		return nil
	}
	if _, positioned := errors.AsType[*Error](err); positioned {
		return err // put has returned an error with a position, that of a key in a section
	}
	at := e.Value.GetToken()
	if entry, ok := errors.AsType[*entryError](err); ok {
		at = entry.at
	}
	return errorAt(name, at, fmt.Errorf("%s: %w", key.Value, err))
}

// check refuses values that do not fit together.
func (c *Config) check(name string) error {
	if c.TCP.MaxReconnect < c.TCP.MinReconnect {
		return &Error{File: name, Err: fmt.Errorf("max_reconnectms (%d) is less than min_reconnectms (%d)",
			c.TCP.MaxReconnect.Milliseconds(), c.TCP.MinReconnect.Milliseconds())}
	}
	resends := c.HealthSensitivity > 0 // with a sensitivity of 0, lnet uses a retry_count of 0
	if resends && c.TransactionTimeout <= time.Duration(c.RetryCount)*time.Second {
		return &Error{File: name, Err: fmt.Errorf("lnet_transaction_timeout (%d) has to be more than lnet_retry_count (%d): raise it, or lower that",
			int(c.TransactionTimeout.Seconds()), c.RetryCount)}
	}
	if group := c.Scoll.Admin.Multicast; group != "" && !c.Rmcast.has(group) {
		return &Error{File: name, Err: fmt.Errorf("multicast in the section admin of scoll: there is no group %s in the section rmcast, or that is not enabled", group)}
	}
	if err := c.Health.check(c); err != nil {
		return err
	}
	return c.checkHandlers()
}

// mapping returns the entries of a document, nil of an empty one.
func mapping(name string, body ast.Node) ([]*ast.MappingValueNode, error) {
	switch n := body.(type) {
	case nil, *ast.NullNode, *ast.CommentGroupNode:
		return nil, nil
	case *ast.MappingNode:
		return n.Values, nil
	case *ast.MappingValueNode:
		return []*ast.MappingValueNode{n}, nil
	}
	return nil, errorAt(name, body.GetToken(), errors.New("want lines of the form \"key: value\""))
}

func errorAt(name string, t *token.Token, err error) error {
	e := &Error{File: name, Err: err}
	if t != nil && t.Position != nil {
		e.Line, e.Column = t.Position.Line, t.Position.Column
	}
	return e
}

func syntaxError(name string, err error) error {
	if y, ok := errors.AsType[yaml.Error](err); ok {
		return errorAt(name, y.GetToken(), errors.New(y.GetMessage()))
	}
	return &Error{File: name, Err: err}
}
