"""Print the records of each sample."""

from tests.features.importers.samples import all_samples, kept

print(f"{'client':13} {'release':14} expected  kept  equal  unknown")
totals = [0, 0, 0, 0]
for sample in all_samples():
    found, account = kept(sample.client, sample.file)
    counts = (len(sample.expected), len(found), int(found == sample.expected), sum(account.unknown.values()))
    totals = [total + count for total, count in zip(totals, counts, strict=True)]
    print(f"{sample.client:13} {sample.release:14} {counts[0]:8} {counts[1]:5} {counts[2]:6} {counts[3]:8}")
samples = all_samples()
print(
    f"{len(samples)} files of {len({s.client for s in samples})} clients: {totals[0]} turns expected, {totals[1]} kept; "
    f"{totals[2]} files equal; {totals[3]} unknown forms"
)
