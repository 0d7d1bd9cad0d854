package bugreport

import (
	"archive/tar"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"
)

// nameless matches the characters of a hostname that the name of a file should not have. Name replaces them.
var nameless = onUse(`[^A-Za-z0-9.-]+`)

// Name returns the name of the report, which contains the hostname and the time. The folder in the archive has
// the same name.
func (r *Report) Name() string {
	return "lnet-bugreport-" + nameless().ReplaceAllString(r.Host, "_") + "-" + r.Created.Format("20060102-150405")
}

// Write writes the report as a compressed archive of tar: a folder with index.json and the files.
func (r *Report) Write(w io.Writer) error {
	z := gzip.NewWriter(w)
	t := tar.NewWriter(z)
	index, err := json.MarshalIndent(r.Index, "", "  ")
	if err == nil {
		err = r.write(t, "index.json", append(index, '\n'))
	}
	for _, f := range r.Files {
		if err == nil {
			err = r.write(t, f.Name, f.text)
		}
	}
	if err = errors.Join(err, t.Close(), z.Close()); err != nil {
		return fmt.Errorf("write the report: %w", err)
	}
	return nil
}

func (r *Report) write(t *tar.Writer, name string, text []byte) error {
	h := &tar.Header{Typeflag: tar.TypeReg, Name: r.Name() + "/" + name, Mode: 0o600, Size: int64(len(text)), ModTime: r.Created.Truncate(time.Second)}
	if err := t.WriteHeader(h); err != nil {
		return err
	}
	_, err := t.Write(text)
	return err
}
