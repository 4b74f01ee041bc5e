// Wrong calls, each of them an error of types: one that is not makes `tsc` say so.
import { BookingClient, BookingId, PaymentId } from "./booking";
import { CountryAlpha2Code, CountryClient } from "./country";
import { AuctionId, EcobidClient, ItemId, UserId } from "./ecobid";
import { ReminderId, TaskId, TodoClient, type Task } from "./todo";
import { ItemId as GarmentId, WardrobeClient } from "./wardrobe";

export async function wrong(todo: TodoClient, booking: BookingClient, ecobid: EcobidClient, country: CountryClient, wardrobe: WardrobeClient): Promise<void> {
  // Ids of something else, and texts that are none.
  // @ts-expect-error a text is no id
  todo.task({ task_id: "01JQ0000000000000000000001" });
  // @ts-expect-error a reminder is no task
  todo.task({ task_id: ReminderId("01JQ0000000000000000000001") });
  // @ts-expect-error a payment is no booking
  booking.payments({ bookingId: PaymentId("x") });
  // @ts-expect-error a booking is no payment
  booking.refundPayment({ bookingId: BookingId("x"), paymentId: BookingId("x") });
  // @ts-expect-error an item is no auction
  ecobid.bids({ auctionId: ItemId("x") });
  // @ts-expect-error an auction is no item
  ecobid.itemPage({ itemId: AuctionId("x") });
  // @ts-expect-error a user is no item
  ecobid.reserveItem({ itemId: UserId("x") });
  // @ts-expect-error an id of another system
  wardrobe.item({ itemId: AuctionId("x") });
  // @ts-expect-error a number is no id
  todo.completeTask({ task_id: 7 });
  // @ts-expect-error a text is no code
  country.deleteCountry({ alpha2: "NO" });

  // Two reads at once.
  // @ts-expect-error the status belongs to another read
  todo.tasks({ status: "pending" });
  // @ts-expect-error one is by status, the other by priority
  todo.tasksByStatus({ status: "pending", priority: "high" });
  // @ts-expect-error a search has no status
  todo.searchTasks({ q: "milk", status: "pending" });
  // @ts-expect-error the order is in the name
  todo.tasksInDueDateOrder({ sort: "due_date" });
  // @ts-expect-error by month needs a status too
  booking.bookingsOfMonth({ month: "2030-01" });
  // @ts-expect-error without a month it is another read
  booking.bookingsByStatus({ status: "pending", month: "2030-01" });
  // @ts-expect-error a season belongs to another read
  wardrobe.items({ userId: "tomas", season: "winter" });
  // @ts-expect-error a place and a category by itself are two reads
  ecobid.itemsOfCategory({ category: "books", near: "52,21" });

  // What is missing, too much, or of another kind.
  // @ts-expect-error an argument is missing
  todo.task({});
  // @ts-expect-error all arguments are missing
  todo.task();
  // @ts-expect-error a word that the enum does not have
  todo.tasksByStatus({ status: "done" });
  // @ts-expect-error a letter too many
  todo.createTask({ titel: "x" });
  // @ts-expect-error a title is text
  todo.createTask({ title: 5 });
  // @ts-expect-error a title cannot be removed
  todo.createTask({ title: null });
  // @ts-expect-error a place is two numbers
  ecobid.itemsNear({ near: "Warsaw", km: 5 });
  // @ts-expect-error distances are given
  ecobid.itemsNear({ near: "52.2,21.0", km: 7 });
  // @ts-expect-error a day is text
  booking.eventsOfDay({ date: new Date() });
  // @ts-expect-error a read has no key
  todo.task({ task_id: TaskId("x") }, { idempotencyKey: "x" });
  // @ts-expect-error a row has no pages
  todo.task({ task_id: TaskId("x") }, { limit: 1 });
  // @ts-expect-error there is no such operation
  todo.eraseTask({ task_id: TaskId("x") });
  // @ts-expect-error a client is served somewhere
  new TodoClient({ token: "x" });

  // Answers.
  const answer = await todo.completeTask({ task_id: TaskId("x") });
  // @ts-expect-error it may have been refused
  answer.value;
  // @ts-expect-error no rule has that name
  if (!answer.ok && answer.refusal === "task_not_open") return;
  // @ts-expect-error what was done was not refused
  if (answer.ok) answer.refusal;
  const page = await todo.tasks().page();
  // @ts-expect-error rows have what the entity has
  if (page.ok) page.value.items[0]?.titel;
  // @ts-expect-error a list is asked for page by page
  (await todo.tasks()).length;
  for await (const task of todo.tasks()) {
    // @ts-expect-error a row is not written by assigning to it
    task.title = "x";
    // @ts-expect-error a user is no task
    const other: TaskId = task.user_id;
    void other;
  }
  // @ts-expect-error a row has all that is required
  const row: Task = { title: "x" };
  void [row, GarmentId("x"), CountryAlpha2Code("NO")];
}
