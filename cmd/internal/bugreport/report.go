// Package bugreport collects what a person without access to a node needs to find out what is wrong with
// it: what the daemon, the host and doctor say, without secrets. The result is one archive.
//
// Each wait has a time limit. What is missing, because the daemon does not answer or a file is not
// readable, is listed with the reason.
package bugreport

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"time"

	"ulnet/cmd/internal/cli"
	"ulnet/cmd/internal/control"
	"ulnet/cmd/internal/doctor"
)

// Bounds of a report.
const (
	maxFile   = 1 << 20          // bytes of one file: from a longer text the beginning is kept, and from a longer log the end
	maxReport = 32 << 20         // bytes of all files together
	maxDoctor = 20 * time.Second // longest time that the checks of doctor may take
)

// Options say where a report comes from.
type Options struct {
	Socket  string           // control socket of the daemon
	Config  string           // configuration of the daemon, for a daemon that does not answer
	Log     string           // file with the log of the daemon; "": the journal of systemd
	Limit   time.Duration    // longest time of the whole collection; 0: 60 s
	Answer  time.Duration    // longest wait for one answer of the daemon, or for one command; 0: 3 s
	Environ []string         // environment of this process, whose secrets are removed
	Host    doctor.Host      // the system, for doctor
	Doctor  doctor.Options   // what doctor looks at
	Now     func() time.Time // time of day
}

// Index says what a report contains and what is missing. It is the file index.json.
type Index struct {
	Created time.Time `json:"created"` // when the report was made
	Version string    `json:"version"` // version of lnetctl
	Host    string    `json:"host"`    // name of the host
	Files   []File    `json:"files"`   // the files, in the order in which they were made
	Missing []Missing `json:"missing"` // what could not be collected
}

// File is a file of a report.
type File struct {
	Name  string `json:"name"`          // path in the archive, below its folder
	Bytes int    `json:"bytes"`         // length of the file in the archive
	Cut   bool   `json:"cut,omitempty"` // the file has only a part of the text

	text []byte
}

// Missing is something that a report should have and does not.
type Missing struct {
	What string `json:"what"` // name of the missing file, or a description of what is missing
	Why  string `json:"why"`  // why it is missing
}

// Report is a collection of files.
type Report struct {
	Index
	size   int
	clean  cleaner
	answer time.Duration // longest wait for one answer
	dir    string        // working directory of the daemon; "": not known
}

// Collect makes a report. It fails only if ctx ends.
func Collect(ctx context.Context, o Options) (*Report, error) {
	if o.Limit <= 0 {
		o.Limit = time.Minute
	}
	if o.Answer <= 0 {
		o.Answer = 3 * time.Second
	}
	limited, cancel := context.WithTimeout(ctx, o.Limit)
	defer cancel()
	host, _ := os.Hostname() // if this fails, the report has no host name
	r := &Report{answer: o.Answer, Index: Index{Created: o.Now().UTC(), Version: cli.Version(), Host: host, Files: []File{}, Missing: []Missing{}}}
	r.clean.environment(o.Environ)
	r.daemon(limited, &o)
	r.system(limited)
	r.log(limited, o.Log)
	r.examine(limited, &o)
	r.purge()
	return r, ctx.Err()
}

// examine adds what doctor says.
func (r *Report) examine(ctx context.Context, o *Options) {
	const name = "doctor.json"
	o.Doctor.Limit = maxDoctor
	if end, ok := ctx.Deadline(); ok {
		o.Doctor.Limit = min(maxDoctor, time.Until(end)-time.Second)
	}
	if o.Doctor.Limit <= 0 {
		r.lacks(name, "the time limit is over")
		return
	}
	found, err := doctor.Run(ctx, o.Host, doctor.Daemon(control.NewClient(o.Socket)), o.Doctor)
	if err != nil {
		r.lacks(name, err.Error())
		return
	}
	r.addJSON(name, found)
}

// add adds a text, or only its beginning if it is too long. It takes secrets out before it cuts the text,
// so that the text cannot end with a part of a secret.
func (r *Report) add(name string, text []byte) {
	text = r.clean.text(text)
	cut := len(text) > maxFile
	if cut {
		text = text[:maxFile]
	}
	r.keep(File{Name: name, text: text, Cut: cut})
}

// addTail adds a log, or only its last whole lines if it is too long. cut means that the caller has
// already cut off the beginning.
func (r *Report) addTail(name string, text []byte, cut bool) {
	if cut {
		_, text, _ = bytes.Cut(text, []byte("\n"))
	}
	text = r.clean.text(text)
	if len(text) > maxFile {
		_, text, _ = bytes.Cut(text[len(text)-maxFile:], []byte("\n"))
		cut = true
	}
	r.keep(File{Name: name, text: text, Cut: cut})
}

// addJSON adds a value as JSON, without its secrets. If the text is too long, it is cut, and the file is
// not valid JSON.
func (r *Report) addJSON(name string, v any) {
	raw, err := json.Marshal(v)
	if err != nil {
		r.lacks(name, err.Error())
		return
	}
	text := r.clean.json(raw)
	cut := len(text) > maxFile
	if cut {
		text = text[:maxFile]
	}
	r.keep(File{Name: name, text: text, Cut: cut})
}

func (r *Report) keep(f File) {
	if r.size+len(f.text) > maxReport {
		r.lacks(f.Name, fmt.Sprintf("the report would have more than %d bytes", maxReport))
		return
	}
	r.size += len(f.text)
	r.Files = append(r.Files, f)
}

// lacks notes that the report does not have something. The reason becomes one line.
func (r *Report) lacks(what, why string) {
	line := strings.Join(strings.Fields(why), " ")
	r.Missing = append(r.Missing, Missing{what, string(r.clean.text([]byte(line)))})
}

// purge takes secrets out of files that were added before these secrets were learned.
func (r *Report) purge() {
	for i := range r.Files {
		f := &r.Files[i]
		f.text = r.clean.known(f.text)
		f.Bytes = len(f.text)
	}
	for i := range r.Missing {
		r.Missing[i].Why = string(r.clean.known([]byte(r.Missing[i].Why)))
	}
}
