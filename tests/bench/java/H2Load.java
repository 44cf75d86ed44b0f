import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.Random;

/**
 * A database at work: H2 in memory, transfers between accounts, reports and some housekeeping. The
 * work is fixed by the number of rounds, so is the checksum printed at the end. Argument: rounds;
 * 2000 transfers each.
 */
public final class H2Load {
    private static final int ACCOUNTS = 20_000;
    private static final int BRANCHES = 100;
    private static final int TRANSFERS = 2_000;

    public static void main(String[] args) throws SQLException {
        int rounds = Integer.parseInt(args[0]);
        Random random = new Random(17);
        try (Connection db = DriverManager.getConnection("jdbc:h2:mem:bench")) {
            fill(db);
            System.out.println("ready");
            long checksum = 0;
            for (int round = 0; round < rounds; round++) {
                transfer(db, random, round);
                checksum = checksum * 31 + report(db, random);
                try (Statement statement = db.createStatement()) {
                    statement.executeUpdate("delete from history where round < " + (round - 3));
                }
                db.commit();
            }
            System.out.println("checksum " + checksum);
        }
    }

    private static void fill(Connection db) throws SQLException {
        try (Statement statement = db.createStatement()) {
            statement.execute("create table account"
                + " (id int primary key, branch int, balance bigint, holder varchar(40))");
            statement.execute("create index account_branch on account(branch)");
            statement.execute("create table history (id identity primary key,"
                + " source int, target int, amount int, round int)");
            statement.execute("create index history_source on history(source)");
        }
        db.setAutoCommit(false);
        try (PreparedStatement insert =
                 db.prepareStatement("insert into account values (?, ?, ?, ?)")) {
            for (int i = 0; i < ACCOUNTS; i++) {
                insert.setInt(1, i);
                insert.setInt(2, i % BRANCHES);
                insert.setLong(3, 1_000);
                insert.setString(4, "holder of account " + i);
                insert.addBatch();
            }
            insert.executeBatch();
        }
        db.commit();
    }

    private static void transfer(Connection db, Random random, int round) throws SQLException {
        try (PreparedStatement move =
                 db.prepareStatement("update account set balance = balance + ? where id = ?");
             PreparedStatement note = db.prepareStatement(
                 "insert into history (source, target, amount, round) values (?, ?, ?, ?)")) {
            for (int i = 0; i < TRANSFERS; i++) {
                int source = random.nextInt(ACCOUNTS);
                int target = random.nextInt(ACCOUNTS);
                int amount = random.nextInt(100);
                move.setLong(1, -amount);
                move.setInt(2, source);
                move.executeUpdate();
                move.setLong(1, amount);
                move.setInt(2, target);
                move.executeUpdate();
                note.setInt(1, source);
                note.setInt(2, target);
                note.setInt(3, amount);
                note.setInt(4, round);
                note.executeUpdate();
                db.commit();
            }
        }
    }

    private static long report(Connection db, Random random) throws SQLException {
        long sum = 0;
        try (PreparedStatement query = db.prepareStatement(
                 "select a.id, a.balance, count(h.id), sum(h.amount) from account a"
                 + " left join history h on h.source = a.id where a.branch = ?"
                 + " group by a.id, a.balance order by a.balance desc, a.id limit 20")) {
            for (int i = 0; i < 5; i++) {
                query.setInt(1, random.nextInt(BRANCHES));
                try (ResultSet rows = query.executeQuery()) {
                    while (rows.next()) {
                        sum = sum * 31 + rows.getInt(1) + rows.getLong(2) * 7 + rows.getLong(4);
                    }
                }
            }
        }
        return sum;
    }
}
