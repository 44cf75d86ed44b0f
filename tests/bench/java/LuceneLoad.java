import java.io.IOException;
import java.util.Random;
import org.apache.lucene.analysis.standard.StandardAnalyzer;
import org.apache.lucene.document.Document;
import org.apache.lucene.document.Field;
import org.apache.lucene.document.NumericDocValuesField;
import org.apache.lucene.document.StringField;
import org.apache.lucene.document.TextField;
import org.apache.lucene.index.DirectoryReader;
import org.apache.lucene.index.IndexWriter;
import org.apache.lucene.index.IndexWriterConfig;
import org.apache.lucene.index.SerialMergeScheduler;
import org.apache.lucene.index.Term;
import org.apache.lucene.search.BooleanClause;
import org.apache.lucene.search.BooleanQuery;
import org.apache.lucene.search.IndexSearcher;
import org.apache.lucene.search.PhraseQuery;
import org.apache.lucene.search.TermQuery;
import org.apache.lucene.search.TopDocs;
import org.apache.lucene.store.ByteBuffersDirectory;
import org.apache.lucene.store.Directory;

/**
 * A search engine at work: Lucene indexes made-up documents in memory and searches them. The work is
 * fixed by the number of rounds, so is the checksum printed at the end. Argument: rounds; an index
 * of 5000 documents and 2000 queries each.
 */
public final class LuceneLoad {
    private static final int WORDS = 20_000;
    private static final int DOCUMENTS = 5_000;
    private static final int QUERIES = 2_000;

    public static void main(String[] args) throws IOException {
        int rounds = Integer.parseInt(args[0]);
        System.out.println("ready");
        long checksum = 0;
        for (int round = 0; round < rounds; round++) {
            Random random = new Random(round);
            try (Directory directory = new ByteBuffersDirectory()) {
                index(directory, random);
                checksum = checksum * 31 + search(directory, random);
            }
        }
        System.out.println("checksum " + checksum);
    }

    private static void index(Directory directory, Random random) throws IOException {
        // Merging in the thread that indexes: the same merges in every run.
        IndexWriterConfig config = new IndexWriterConfig(new StandardAnalyzer())
            .setMergeScheduler(new SerialMergeScheduler()).setMaxBufferedDocs(500);
        try (IndexWriter writer = new IndexWriter(directory, config)) {
            StringBuilder text = new StringBuilder();
            for (int i = 0; i < DOCUMENTS; i++) {
                text.setLength(0);
                for (int n = 20 + random.nextInt(120); n > 0; n--) {
                    text.append(word(random)).append(n % 12 == 0 ? ". " : " ");
                }
                Document document = new Document();
                document.add(new StringField("id", "document-" + i, Field.Store.YES));
                document.add(new TextField("text", text.toString(), Field.Store.YES));
                document.add(new NumericDocValuesField("rank", random.nextInt(1_000)));
                writer.addDocument(document);
            }
            writer.forceMerge(2);
        }
    }

    private static long search(Directory directory, Random random) throws IOException {
        long sum = 0;
        try (DirectoryReader reader = DirectoryReader.open(directory)) {
            IndexSearcher searcher = new IndexSearcher(reader);
            searcher.setQueryCache(null); // decides by time what it keeps
            for (int i = 0; i < QUERIES; i++) {
                BooleanQuery query = new BooleanQuery.Builder()
                    .add(new TermQuery(term(random)), BooleanClause.Occur.SHOULD)
                    .add(new TermQuery(term(random)), BooleanClause.Occur.SHOULD)
                    .add(new TermQuery(term(random)), BooleanClause.Occur.MUST_NOT)
                    .add(new PhraseQuery("text", word(random), word(random)),
                         BooleanClause.Occur.SHOULD)
                    .build();
                TopDocs found = searcher.search(query, 10);
                sum = sum * 31 + found.totalHits.value;
                if (found.scoreDocs.length > 0) {
                    sum += searcher.doc(found.scoreDocs[0].doc).get("text").length();
                }
            }
        }
        return sum;
    }

    private static Term term(Random random) {
        return new Term("text", word(random));
    }

    /** Few words are frequent, most are rare, as in any language. */
    private static String word(Random random) {
        double u = random.nextDouble();
        return "w" + Integer.toString((int) (WORDS * u * u * u * u), 36);
    }
}
