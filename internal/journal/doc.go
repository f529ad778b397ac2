// Package journal keeps on disk what becomes of several runs while they are under way,
// so that after the end of the program, however it came, what had finished is there.
//
// A journal is a directory with a file for each run, to which lines are appended as
// things happen, and one that says which tasks the runs are of:
//
//	j, err := journal.Create(dir, []journal.Task{{Name: "first", Digest: "…"}})
//	err = j.Run(0).Append([]byte(`{"type":"start"}`))
//	err = j.Run(0).End([]byte(`{"type":"end"}`))
//	err = j.Close()
//
// A line is written whole, by one write. Of a program that was killed the last line of
// a file may be torn: Lines leaves it out, and the next Append takes it away. End also
// has the line stored on the disk before it returns. Resume opens a journal again, for
// the same tasks.
//
// A journal is its owner's only (0700, and 0600 for the files), is in use by one
// program at a time, and no symbolic link in it is followed, nor one that stands in its
// place. What the lines say is their writer's business.
package journal
