package script

import (
	"bufio"
	"errors"
	"io/fs"
	"net"
	"os"
	"path/filepath"
)

// What the agent does to the machine. Relative paths are in the session's directory.

var fileStatements = []*statement{
	{
		usage: "write PATH [TEXT] [size=SIZE]",
		doc:   "Writes a file with this content, empty without. It appears whole.",
		run:   runWrite,
	},
	{
		usage: "append PATH TEXT",
		doc:   "Appends a line to a file. A new file appears with it.",
		run:   runAppend,
	},
	{
		usage: "read PATH",
		doc:   "Sets `$answer` to the file's content.",
		run:   runRead,
	},
	{
		usage: "remove PATH",
		doc:   "Removes a file.",
		run:   func(t *task, c *call) error { return os.Remove(t.path(t.text(c, "PATH"))) },
	},
	{
		usage: "lock PATH",
		doc:   "Creates a file for as long as it runs; ends with status 1 if there is one.",
		run:   runLock,
	},
	{
		usage: "listen ADDRESS",
		doc:   "Listens on a TCP address for as long as it runs; ends with status 1 if another process does.",
		run:   runListen,
	},
	{
		usage: "tty TEXT",
		doc:   "Asks on the terminal and sets `$answer` to the line typed, or `$error` if there is no terminal.",
		run:   runTTY,
	},
}

func runWrite(t *task, c *call) error {
	text := ""
	if c.has("TEXT") || c.has("size") {
		var err error
		if text, err = t.sized(c); err != nil {
			return err
		}
	}
	return writeWhole(t.path(t.text(c, "PATH")), text, os.Rename)
}

// writeWhole never lets anyone see half a file, so that who waits for it can read it.
// give gives the file its name.
func writeWhole(name, text string, give func(old, new string) error) error {
	f, err := os.CreateTemp(filepath.Dir(name), ".write-*")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name()) // of no effect once it has its name
	_, err = f.WriteString(text)
	if err := errors.Join(err, f.Chmod(0o644), f.Close()); err != nil {
		return err
	}
	return give(f.Name(), name)
}

func runAppend(t *task, c *call) error {
	name, line := t.path(t.text(c, "PATH")), t.text(c, "TEXT")+"\n"
	f, err := os.OpenFile(name, os.O_APPEND|os.O_WRONLY, 0)
	if errors.Is(err, fs.ErrNotExist) {
		if err = writeWhole(name, line, os.Link); !errors.Is(err, fs.ErrExist) {
			return err
		}
		f, err = os.OpenFile(name, os.O_APPEND|os.O_WRONLY, 0) // another was first
	}
	if err != nil {
		return err
	}
	_, err = f.WriteString(line)
	return errors.Join(err, f.Close())
}

func runRead(t *task, c *call) error {
	b, err := os.ReadFile(t.path(t.text(c, "PATH")))
	t.local("answer", string(b))
	return err
}

// lockFile is removed when the agent ends by itself; a killed one leaves it, as
// agents do.
type lockFile string

func (name lockFile) Close() error { return os.Remove(string(name)) }

func runLock(t *task, c *call) error {
	name := t.path(t.text(c, "PATH"))
	f, err := os.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	t.r.mu.Lock()
	defer t.r.mu.Unlock()
	t.r.held = append(t.r.held, lockFile(name))
	return f.Close()
}

func runListen(t *task, c *call) error {
	l, err := net.Listen("tcp", t.text(c, "ADDRESS"))
	if err != nil {
		return err
	}
	t.r.mu.Lock()
	defer t.r.mu.Unlock()
	t.r.held = append(t.r.held, l)
	return nil
}

func runTTY(t *task, c *call) error {
	tty, err := openTerminal()
	if err != nil {
		t.local("error", err.Error())
		return nil
	}
	defer tty.Close()
	_, _ = tty.WriteString(t.text(c, "TEXT"))
	line, err := bufio.NewReader(tty).ReadString('\n')
	t.local("answer", line)
	if err != nil {
		t.local("error", err.Error())
	}
	return nil
}
